package budgetsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Option changes a connector.
type Option struct{ apply func(*config) }

type config struct {
	system    string
	peer      string
	behaviour *Behaviour
	stage     func(query string) string
	hop       []budget.HopOption
}

// WithSystem names the database system as the semantic conventions do, for example postgresql.
func WithSystem(name string) Option { return Option{func(c *config) { c.system = name }} }

// WithPeer names the database that is called, for statements that name no server by themselves.
func WithPeer(service string) Option { return Option{func(c *config) { c.peer = service }} }

// WithStage tells the stage of a statement; the default is the system and the statement's first word. It must be of bounded
// cardinality.
func WithStage(stage func(query string) string) Option {
	return Option{func(c *config) { c.stage = stage }}
}

// WithHop adds options to every hop, for example [budget.WithCap].
func WithHop(opts ...budget.HopOption) Option {
	return Option{func(c *config) { c.hop = append(c.hop, opts...) }}
}

// WithBehaviour tells what the driver does when a context ends, as [Probe] found it. Statements that may go on in the
// server are then recorded as not confirmed to have stopped.
func WithBehaviour(b Behaviour) Option { return Option{func(c *config) { c.behaviour = &b }} }

// NewConnector wraps a driver's connector for sql.OpenDB. A statement is refused with a [*budget.ExhaustedError] before it
// is sent if the budget does not suffice, ends with it, and lasts until its rows are closed. Time spent waiting for a
// connection of the pool is before the driver is asked and part of no hop; it is bounded by the context all the same.
func NewConnector(base driver.Connector, opts ...Option) driver.Connector {
	cfg := &config{}
	for _, o := range opts {
		if o.apply != nil {
			o.apply(cfg)
		}
	}
	return &connector{base: base, cfg: cfg}
}

type connector struct {
	base driver.Connector
	cfg  *config
}

func (c *connector) Driver() driver.Driver { return c.base.Driver() }

// Close closes the driver's connector, if it can be, when the sql.DB is closed.
func (c *connector) Close() error {
	if base, ok := c.base.(io.Closer); ok {
		return base.Close()
	}
	return nil
}

// Connect opens a connection as a hop of the request that needs it. Where nobody does, as when the pool refills itself, it
// is none.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if budget.FromContext(ctx) == nil {
		base, err := c.base.Connect(ctx)
		return c.wrap(base, err)
	}
	hopCtx, hop, err := c.cfg.start(ctx, "", "CONNECT")
	if err != nil {
		return nil, err
	}
	hop.TimeoutPhase(budgetattr.PhaseConnect)
	base, err := c.base.Connect(hopCtx)
	err = known(hop, err)
	hop.End(err)
	return c.wrap(base, err)
}

func (c *connector) wrap(base driver.Conn, err error) (driver.Conn, error) {
	if err != nil {
		return nil, err
	}
	return &conn{Conn: base, cfg: c.cfg}, nil
}

// start admits one statement.
func (c *config) start(ctx context.Context, stage, operation string) (context.Context, budget.Hop, error) {
	system := c.system
	if system == "" {
		system = "sql"
	}
	if stage == "" {
		stage = system + " " + operation
	}
	opts := make([]budget.HopOption, 0, 6)
	opts = append(opts, budget.WithSpanKind(trace.SpanKindClient))
	if c.peer != "" {
		opts = append(opts, budget.WithPeer(c.peer))
	}
	ctx, hop, err := budget.StartHop(ctx, stage, append(opts, c.hop...)...)
	if err == nil {
		hop.TimeoutPhase(budgetattr.PhaseDBExecution)
		hop.SetAttributes(attribute.String("db.system.name", system), attribute.String("db.operation.name", operation))
	}
	return ctx, hop, err
}

// statement admits the statement of a query.
func (c *config) statement(ctx context.Context, query string) (context.Context, budget.Hop, error) {
	stage := ""
	if c.stage != nil {
		stage = c.stage(query)
	}
	return c.start(ctx, stage, Operation(query))
}

// end closes the hop of a statement and returns the error that the caller sees. driver.ErrBadConn stays as it
// is: it tells database/sql to give the connection up.
func (c *config) end(ctx context.Context, hop budget.Hop, err error) error {
	if ctx.Err() != nil && c.behaviour != nil && !c.behaviour.ServerStops {
		hop.Unconfirmed()
	}
	err = known(hop, err)
	hop.End(err)
	return err
}

func known(hop budget.Hop, err error) error {
	if errors.Is(err, driver.ErrBadConn) {
		return err
	}
	return hop.Err(err)
}

// Operation returns the first word of a statement in upper case, or SQL if it is not a plain word.
func Operation(query string) string {
	query = strings.TrimLeft(query, " \t\r\n(;")
	end := strings.IndexFunc(query, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
	if end < 0 {
		end = len(query)
	}
	if end == 0 || end > 16 {
		return "SQL"
	}
	return strings.ToUpper(query[:end])
}
