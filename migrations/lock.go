package migrations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// The lock across processes is a table schema_lock_N with its holder as the comment: of all who create one name exactly one
// succeeds. The highest N counts. It stays as the marker of its generation when it is given back, so that a slow process
// cannot begin an old generation again. The holder renews its comment; by the server's clock one that did not for a lease is
// dead, and so at once is a holder on this host whose process is gone. golang-migrate itself locks only inside one process.
const (
	lockPrefix = "schema_lock_"
	lease      = 30 * time.Second
	freeMarker = "free"

	codeTableExists = 57
)

// LockedError says who migrates already.
type LockedError struct{ Holder string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("another process migrates this database (%s); wait for it, or stop it and try again after %s", e.Holder, lease)
}

type lock struct {
	conn   driver.Conn
	table  string
	cancel context.CancelCauseFunc
	done   sync.WaitGroup
}

var errLockLost = errors.New("migration lock lost")

type generation struct {
	number int
	holder string
	age    time.Duration
}

func (g generation) table() string { return fmt.Sprintf("%s%08d", lockPrefix, g.number) }

// taken reports whether a living process holds this generation.
func (g generation) taken() bool {
	return g.number > 0 && g.holder != freeMarker && g.age < lease && !deadHere(g.holder)
}

// acquire waits at most wait for the lock. The context it returns ends when the lock is lost; release must be called.
func acquire(ctx context.Context, conn driver.Conn, wait time.Duration) (held context.Context, release func(), err error) {
	deadline := time.Now().Add(wait)
	for {
		last, err := highest(ctx, conn)
		if err != nil {
			return nil, nil, err
		}
		if !last.taken() {
			mine, err := take(ctx, conn, last)
			if err != nil {
				return nil, nil, err
			}
			if mine != nil {
				held, mine.cancel = context.WithCancelCause(ctx)
				mine.done.Go(func() { mine.renew(held) })
				return held, func() { mine.release(held) }, nil
			}
		}
		if time.Now().After(deadline) {
			return nil, nil, &LockedError{Holder: last.holder}
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// take begins the generation after last; both results are nil when another process was faster.
func take(ctx context.Context, conn driver.Conn, last generation) (*lock, error) {
	mine := generation{number: last.number + 1}
	err := conn.Exec(ctx, "CREATE TABLE "+mine.table()+" (at DateTime) ENGINE = MergeTree ORDER BY at COMMENT '"+holder(0)+"'")
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && exception.Code == codeTableExists {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("migration lock: %w", err)
	}
	now, err := highest(ctx, conn)
	if err != nil {
		return nil, err
	}
	if now.number != mine.number {
		return nil, drop(ctx, conn, mine)
	}
	for n := last.number; n > 0 && n > last.number-16; n-- {
		if err := drop(ctx, conn, generation{number: n}); err != nil {
			return nil, err
		}
	}
	return &lock{conn: conn, table: mine.table()}, nil
}

func drop(ctx context.Context, conn driver.Conn, g generation) error {
	if err := conn.Exec(ctx, "DROP TABLE IF EXISTS "+g.table()+""); err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	return nil
}

// renew tells the others that the holder lives, until the lock is released.
func (l *lock) renew(ctx context.Context) {
	renewed := time.Now()
	tick := time.NewTicker(lease / 6)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := l.comment(ctx, holder(n))
		if err == nil {
			renewed = time.Now()
		} else if time.Since(renewed) > lease/2 {
			l.cancel(fmt.Errorf("%w: %w", errLockLost, err))
			return
		}
	}
}

func (l *lock) comment(ctx context.Context, text string) error {
	return l.conn.Exec(ctx, "ALTER TABLE "+l.table+" MODIFY COMMENT '"+text+"'")
}

// release gives the lock back. A release that does not arrive is made up for by the lease.
func (l *lock) release(held context.Context) {
	l.cancel(nil)
	l.done.Wait()
	if errors.Is(context.Cause(held), errLockLost) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(held), 5*time.Second)
	defer cancel()
	_ = l.comment(ctx, freeMarker)
}

// highest returns the newest generation, number 0 if there is none.
func highest(ctx context.Context, conn driver.Conn) (generation, error) {
	rows, err := conn.Query(ctx, `SELECT name, comment, toInt64(dateDiff('second', metadata_modification_time, now()))
		FROM system.tables WHERE database = currentDatabase() AND startsWith(name, '`+lockPrefix+`') ORDER BY name DESC LIMIT 1`)
	if err != nil {
		return generation{}, fmt.Errorf("migration lock: %w", err)
	}
	defer rows.Close()
	var g generation
	for rows.Next() {
		var name string
		var age int64
		if err := rows.Scan(&name, &g.holder, &age); err != nil {
			return g, fmt.Errorf("migration lock: %w", err)
		}
		if g.number, err = strconv.Atoi(strings.TrimPrefix(name, lockPrefix)); err != nil {
			return g, fmt.Errorf("migration lock: table %s is not ours", name)
		}
		g.age = time.Duration(age) * time.Second
	}
	if err := rows.Err(); err != nil {
		return g, fmt.Errorf("migration lock: %w", err)
	}
	return g, nil
}

// holder names this process; the renewal makes every comment differ.
func holder(renewal int) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	host = strings.NewReplacer("'", "", "\\", "", " ", "").Replace(host)
	return fmt.Sprintf("host %s pid %d renewal %d", host, os.Getpid(), renewal)
}

// deadHere reports whether the holder was a process of this host that is gone.
func deadHere(text string) bool {
	var host string
	var pid, renewal int
	if _, err := fmt.Sscanf(text, "host %s pid %d renewal %d", &host, &pid, &renewal); err != nil {
		return false
	}
	mine := strings.Fields(holder(0))[1]
	return host == mine && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
