package budgetsql

//lint:file-ignore SA1019 the drivers that have nothing newer than these interfaces are wrapped too

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// conn answers for every optional interface of a driver's connection and falls back as database/sql would.
type conn struct {
	driver.Conn
	cfg *config
	// declined is the statement that the driver would not run unprepared. database/sql prepares it next, on this connection.
	declined *declined
}

// declined is the hop of a statement between driver.ErrSkip and its prepared form: it is one statement all the same.
type declined struct {
	ctx context.Context
	hop budget.Hop
}

var (
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
)

// Raw lets sql.Conn.Raw reach the driver's own connection.
func (c *conn) Raw() driver.Conn { return c.Conn }

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	base, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	hopCtx, hop, err := c.cfg.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	r, err := base.QueryContext(hopCtx, query, args)
	if err == driver.ErrSkip {
		c.declined = &declined{hopCtx, hop}
		return nil, err
	}
	if err != nil {
		return nil, c.cfg.end(hopCtx, hop, err)
	}
	return &rows{Rows: r, cfg: c.cfg, ctx: hopCtx, hop: hop}, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	base, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	hopCtx, hop, err := c.cfg.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	res, err := base.ExecContext(hopCtx, query, args)
	if err == driver.ErrSkip {
		c.declined = &declined{hopCtx, hop}
		return nil, err
	}
	return res, c.cfg.end(hopCtx, hop, err)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	before := c.declined
	c.declined = nil
	if before != nil {
		ctx = before.ctx
	}
	var s driver.Stmt
	var err error
	if base, ok := c.Conn.(driver.ConnPrepareContext); ok {
		s, err = base.PrepareContext(ctx, query)
	} else {
		s, err = c.Conn.Prepare(query)
	}
	switch {
	case err == nil:
		return &stmt{Stmt: s, conn: c.Conn, cfg: c.cfg, query: query, declined: before}, nil
	case before != nil:
		err = c.cfg.end(before.ctx, before.hop, err)
	}
	return nil, err
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	hopCtx, hop, err := c.cfg.start(ctx, "", "BEGIN")
	if err != nil {
		return nil, err
	}
	var t driver.Tx
	// The transaction lives under the caller's context, not under that of its first statement.
	if base, ok := c.Conn.(driver.ConnBeginTx); ok {
		t, err = base.BeginTx(ctx, opts)
	} else if opts.Isolation != 0 || opts.ReadOnly {
		err = errors.New("the driver does not support isolation levels and read-only transactions")
	} else {
		t, err = c.Conn.Begin() //nolint:staticcheck // for drivers that have nothing newer
	}
	if err = c.cfg.end(hopCtx, hop, err); err != nil {
		return nil, err
	}
	return &tx{Tx: t, ctx: ctx, cfg: c.cfg}, nil
}

func (c *conn) Ping(ctx context.Context) error {
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	if v, ok := c.Conn.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// tx records the commit. A rollback is clean-up: it is never refused, and its time is recorded as such. database/sql gives it
// no context.
type tx struct {
	driver.Tx
	ctx context.Context
	cfg *config
}

// Commit is refused once the budget is over: what was not promised is not written. database/sql then rolls back.
func (t *tx) Commit() error {
	hopCtx, hop, err := t.cfg.start(t.ctx, "", "COMMIT")
	if err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.cfg.end(hopCtx, hop, t.Tx.Commit())
}

func (t *tx) Rollback() error {
	_, done := budget.Cleanup(t.ctx)
	defer done()
	return t.Tx.Rollback()
}

// stmt is a prepared statement.
type stmt struct {
	driver.Stmt
	conn  driver.Conn
	cfg   *config
	query string
	// declined is the hop that the first use of the statement goes on with.
	declined *declined
}

var (
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
	_ driver.ColumnConverter   = (*stmt)(nil)
)

func (s *stmt) start(ctx context.Context) (context.Context, budget.Hop, error) {
	if d := s.declined; d != nil {
		s.declined = nil
		return d.ctx, d.hop, nil
	}
	return s.cfg.statement(ctx, s.query)
}

func (s *stmt) Close() error {
	err := s.Stmt.Close()
	if d := s.declined; d != nil { // its arguments were no good
		s.declined = nil
		d.hop.End(nil)
	}
	return err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	hopCtx, hop, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	var r driver.Rows
	if base, ok := s.Stmt.(driver.StmtQueryContext); ok {
		r, err = base.QueryContext(hopCtx, args)
	} else if values, bad := positional(hopCtx, args); bad != nil {
		err = bad
	} else {
		r, err = s.Stmt.Query(values) //nolint:staticcheck // for drivers that have nothing newer
	}
	if err != nil {
		return nil, s.cfg.end(hopCtx, hop, err)
	}
	return &rows{Rows: r, cfg: s.cfg, ctx: hopCtx, hop: hop}, nil
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	hopCtx, hop, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	var res driver.Result
	if base, ok := s.Stmt.(driver.StmtExecContext); ok {
		res, err = base.ExecContext(hopCtx, args)
	} else if values, bad := positional(hopCtx, args); bad != nil {
		err = bad
	} else {
		res, err = s.Stmt.Exec(values) //nolint:staticcheck // for drivers that have nothing newer
	}
	return res, s.cfg.end(hopCtx, hop, err)
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	if n, ok := s.conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (s *stmt) ColumnConverter(i int) driver.ValueConverter {
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return c.ColumnConverter(i)
	}
	return driver.DefaultParameterConverter
}

// positional prepares a call of a driver that knows no contexts: one that has ended sends nothing.
func positional(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("the driver does not support named parameters")
		}
		values[i] = a.Value
	}
	return values, nil
}
