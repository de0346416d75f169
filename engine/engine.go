// Package engine hosts the ClickHouse engine in this process and serves ClickHouse's HTTP interface, so that every client of
// a ClickHouse server can talk to it.
//
// A request gets a connection of its own, so neither settings nor temporary tables outlive it. What the interface has and
// this one has not: sessions, external tables, input(), TLS, the native protocol.
package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/laxity-dev/laxity/engine/chdb"
)

// Engine is a ClickHouse engine over one data directory. It is safe for concurrent use.
type Engine struct {
	config   Config
	lock     *dirLock
	db       *chdb.DB
	listener net.Listener
	server   *http.Server
	spoolDir string // bodies of INSERTs under way
	version  string

	gate     *gate
	sequence atomic.Int64 // of statements
	refused  atomic.Int64 // requests that found the line full
	requests sync.WaitGroup

	aborted context.Context // ends when running statements have to
	abort   context.CancelFunc
}

// Open takes the data directory, boots the engine and listens. Serve answers; Close undoes it all.
func Open(config Config) (_ *Engine, err error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	if config.Data, err = filepath.Abs(config.Data); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(config.Data, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	e := &Engine{config: config, gate: newGate(config.MaxQueries, config.MaxWaiting), spoolDir: filepath.Join(config.Data, "incoming")}
	e.aborted, e.abort = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			e.free()
		}
	}()
	if e.lock, err = lockDir(config.Data); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(e.spoolDir); err != nil {
		return nil, fmt.Errorf("bodies left by an earlier run: %w", err)
	}
	if err := os.Mkdir(e.spoolDir, 0o700); err != nil {
		return nil, fmt.Errorf("directory for bodies: %w", err)
	}
	if e.listener, err = net.Listen("tcp", config.Listen); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if e.db, err = chdb.Open(filepath.Join(config.Data, "clickhouse"), chdb.Options{Library: config.Library, Args: config.serverFlags()}); err != nil {
		return nil, err
	}
	if e.version, err = e.ask("SELECT version()"); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if err := e.lock.describe(fmt.Sprintf("process %d, listening on %s", os.Getpid(), e.Address())); err != nil {
		return nil, err
	}
	e.server = &http.Server{Handler: e.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Minute, MaxHeaderBytes: 4 << 20}
	return e, nil
}

// ask returns the one value of a statement.
func (e *Engine) ask(sql string) (string, error) {
	conn, err := e.db.Connect()
	if err != nil {
		return "", err
	}
	defer conn.Close()
	result, err := conn.Exec(sql, "TabSeparatedRaw")
	if err != nil {
		return "", err
	}
	defer result.Close()
	return strings.TrimSpace(string(result.Bytes())), nil
}

// Address is where the engine listens, host:port.
func (e *Engine) Address() string { return e.listener.Addr().String() }

// URL is the address for HTTP clients.
func (e *Engine) URL() string { return "http://" + e.Address() }

// Version of ClickHouse.
func (e *Engine) Version() string { return e.version }

// Refused counts the requests turned away because the line was full.
func (e *Engine) Refused() int64 { return e.refused.Load() }

// Serve answers requests until ctx ends, then lets running statements finish for a while, cancels the rest and closes.
func (e *Engine) Serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- e.server.Serve(e.listener) }()
	select {
	case err := <-served:
		return errors.Join(err, e.Close())
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.Background(), e.config.Grace)
	defer cancel()
	_ = e.server.Shutdown(patience)
	err := e.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return err
}

// Close cancels what runs and shuts the engine down.
func (e *Engine) Close() error {
	e.abort()
	farewell, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = e.server.Shutdown(farewell) // the cancelled statements tell their clients
	_ = e.server.Close()
	ended := make(chan struct{})
	go func() {
		e.requests.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-farewell.Done():
		return errors.New("engine: a statement does not end; the process has to")
	}
	e.free()
	return nil
}

func (e *Engine) free() {
	e.abort()
	if e.db != nil {
		e.db.Close()
	}
	if e.listener != nil {
		_ = e.listener.Close()
	}
	if e.lock != nil {
		e.lock.release()
	}
}
