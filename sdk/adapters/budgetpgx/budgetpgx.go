// Package budgetpgx puts budgets under pgx: [Configure] and [ConfigurePool] make every statement a hop of the request it is
// made for, and let the end of a budget cancel the statement in the server and keep the connection.
//
// pgx alone gives up the connection when a context ends. A statement that is refused for lack of time fails with a context that has already ended, without being sent.
package budgetpgx

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgetsql"
)

// Option changes the tracer.
type Option struct{ apply func(*tracer) }

// WithPeer names the database that is called.
func WithPeer(service string) Option { return Option{func(t *tracer) { t.peer = service }} }

// WithHop adds options to every hop, for example [budget.WithCap].
func WithHop(opts ...budget.HopOption) Option {
	return Option{func(t *tracer) { t.hop = append(t.hop, opts...) }}
}

// cancelPatience is how long PostgreSQL may take to confirm a cancelled statement before its connection is given up.
const cancelPatience = 5 * time.Second

// Configure makes connections of the configuration record their statements as hops and cancel them in the server. A tracer
// that is already set is kept and called too.
func Configure(cfg *pgx.ConnConfig, opts ...Option) {
	t := &tracer{next: cfg.Tracer}
	for _, o := range opts {
		if o.apply != nil {
			o.apply(t)
		}
	}
	cfg.Tracer = t
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelPatience}
	}
}

// ConfigurePool is [Configure] for the connections of a pool. Waiting for a connection is a hop of its own where the pool
// has none idle.
func ConfigurePool(cfg *pgxpool.Config, opts ...Option) { Configure(cfg.ConnConfig, opts...) }

// Err tells the error of a statement that the end of ctx cancelled in the server, which PostgreSQL reports as a cancelling
// user, from other errors: the first becomes a [*budget.ExhaustedError] or [*budget.CancelledError].
func Err(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause, ended := budget.CauseOf(ctx)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ended && (ok && pg.Code == queryCanceled || errors.Is(err, ctx.Err())) {
		return budget.CauseError(cause)
	}
	return err
}

// queryCanceled is the SQLSTATE of a statement that was cancelled.
const queryCanceled = "57014"

type tracer struct {
	peer string
	hop  []budget.HopOption
	next pgx.QueryTracer
}

var (
	_ pgx.QueryTracer       = (*tracer)(nil)
	_ pgx.BatchTracer       = (*tracer)(nil)
	_ pgx.CopyFromTracer    = (*tracer)(nil)
	_ pgx.ConnectTracer     = (*tracer)(nil)
	_ pgxpool.AcquireTracer = (*tracer)(nil)
)

type openKey struct{}

// open is a hop on its way from the start of a statement to its end.
type open struct {
	hop budget.Hop
	ctx context.Context
	// settle ends the watch for the end of the context, and the clean-up that began with it.
	settle func()
}

// start admits a statement. The context of one that is refused has ended, so that pgx sends nothing.
func (t *tracer) start(ctx context.Context, operation string, phase budgetattr.Phase) context.Context {
	opts := make([]budget.HopOption, 0, 6)
	opts = append(opts, budget.WithSpanKind(trace.SpanKindClient))
	if t.peer != "" {
		opts = append(opts, budget.WithPeer(t.peer))
	}
	hopCtx, hop, err := budget.StartHop(ctx, "postgresql "+operation, append(opts, t.hop...)...)
	if err != nil {
		ended, cancel := context.WithDeadlineCause(ctx, time.Unix(1, 0), err)
		cancel()
		return without(ended)
	}
	hop.TimeoutPhase(phase)
	hop.SetAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.operation.name", operation))
	// From the end of the context to the server's confirmation pgx cleans up.
	cleaned := make(chan func(), 1)
	stop := context.AfterFunc(hopCtx, func() {
		_, done := hop.Cleanup(hopCtx)
		cleaned <- done
	})
	settle := func() {
		if !stop() {
			(<-cleaned)()
		}
	}
	return context.WithValue(hopCtx, openKey{}, &open{hop: hop, ctx: hopCtx, settle: settle})
}

// without hides a hop above from the end of what is no hop itself.
func without(ctx context.Context) context.Context {
	return context.WithValue(ctx, openKey{}, (*open)(nil))
}

func end(ctx context.Context, err error) {
	o, _ := ctx.Value(openKey{}).(*open)
	if o == nil {
		return
	}
	o.settle()
	if err != nil {
		err = o.hop.Err(err)
	}
	o.hop.End(err)
}

func (t *tracer) TraceQueryStart(ctx context.Context, c *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if t.next != nil {
		ctx = t.next.TraceQueryStart(ctx, c, d)
	}
	return t.start(ctx, budgetsql.Operation(d.SQL), budgetattr.PhaseDBExecution)
}

func (t *tracer) TraceQueryEnd(ctx context.Context, c *pgx.Conn, d pgx.TraceQueryEndData) {
	end(ctx, d.Err)
	if t.next != nil {
		t.next.TraceQueryEnd(ctx, c, d)
	}
}

func (t *tracer) TraceBatchStart(ctx context.Context, c *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	if n, ok := t.next.(pgx.BatchTracer); ok {
		ctx = n.TraceBatchStart(ctx, c, d)
	}
	return t.start(ctx, "BATCH", budgetattr.PhaseDBExecution)
}

func (t *tracer) TraceBatchQuery(ctx context.Context, c *pgx.Conn, d pgx.TraceBatchQueryData) {
	if n, ok := t.next.(pgx.BatchTracer); ok {
		n.TraceBatchQuery(ctx, c, d)
	}
}

func (t *tracer) TraceBatchEnd(ctx context.Context, c *pgx.Conn, d pgx.TraceBatchEndData) {
	end(ctx, d.Err)
	if n, ok := t.next.(pgx.BatchTracer); ok {
		n.TraceBatchEnd(ctx, c, d)
	}
}

func (t *tracer) TraceCopyFromStart(ctx context.Context, c *pgx.Conn, d pgx.TraceCopyFromStartData) context.Context {
	if n, ok := t.next.(pgx.CopyFromTracer); ok {
		ctx = n.TraceCopyFromStart(ctx, c, d)
	}
	return t.start(ctx, "COPY", budgetattr.PhaseDBExecution)
}

func (t *tracer) TraceCopyFromEnd(ctx context.Context, c *pgx.Conn, d pgx.TraceCopyFromEndData) {
	end(ctx, d.Err)
	if n, ok := t.next.(pgx.CopyFromTracer); ok {
		n.TraceCopyFromEnd(ctx, c, d)
	}
}

// TraceConnectStart makes a connection that a request waits for a hop; a pool that fills itself belongs to no request.
func (t *tracer) TraceConnectStart(ctx context.Context, d pgx.TraceConnectStartData) context.Context {
	if n, ok := t.next.(pgx.ConnectTracer); ok {
		ctx = n.TraceConnectStart(ctx, d)
	}
	if budget.FromContext(ctx) == nil {
		return without(ctx)
	}
	return t.start(ctx, "CONNECT", budgetattr.PhaseConnect)
}

func (t *tracer) TraceConnectEnd(ctx context.Context, d pgx.TraceConnectEndData) {
	end(ctx, d.Err)
	if n, ok := t.next.(pgx.ConnectTracer); ok {
		n.TraceConnectEnd(ctx, d)
	}
}

// TraceAcquireStart makes waiting for the pool a hop.
func (t *tracer) TraceAcquireStart(ctx context.Context, p *pgxpool.Pool, d pgxpool.TraceAcquireStartData) context.Context {
	if n, ok := t.next.(pgxpool.AcquireTracer); ok {
		ctx = n.TraceAcquireStart(ctx, p, d)
	}
	if p.Stat().IdleConns() > 0 {
		return without(ctx)
	}
	return t.start(ctx, "ACQUIRE", budgetattr.PhasePool)
}

func (t *tracer) TraceAcquireEnd(ctx context.Context, p *pgxpool.Pool, d pgxpool.TraceAcquireEndData) {
	end(ctx, d.Err)
	if n, ok := t.next.(pgxpool.AcquireTracer); ok {
		n.TraceAcquireEnd(ctx, p, d)
	}
}
