package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

const (
	// noteLimit is the longest time that the note of an answer may take, noteWait how long an expired one waits at least.
	noteLimit = 400 * time.Millisecond
	noteWork  = 8 * time.Millisecond
	// receiptWait is how long the archive waits for the receipt of a note, and as long again for an answer to its question.
	receiptWait = 60 * time.Millisecond
	// deskNotes is after how many notes the records in memory begin anew.
	deskNotes = 500
)

// archive keeps a note of every answer. Notes come through a queue in this process, in envelopes as a broker would carry
// them.
type archive struct {
	*service
	clock *envelope.Clock

	mu    sync.Mutex
	desk  *desk
	notes int
}

// desk holds the records of some notes.
type desk struct {
	records  *record.Memory
	consumer *envelope.Consumer
	writer   *effect.Writer
}

// note is a message in the queue.
type note struct {
	desk    *desk
	request request
	headers propagation.MapCarrier
	until   time.Time
}

func newArchive(s *service) (*archive, error) {
	a := &archive{service: s, clock: envelope.NewClock(envelope.WithTolerance(time.Millisecond))} // sender and receiver share one clock
	var err error
	a.desk, err = a.newDesk()
	return a, err
}

func (a *archive) newDesk() (*desk, error) {
	d := &desk{records: new(record.Memory)}
	var err error
	d.consumer, err = envelope.NewConsumer(context.Background(), budget.Policy{Cleanup: a.timing.limit(cleanupBudget)}, d.records, a.clock,
		budget.WithTracerProvider(a.provider), budget.WithMeterProvider(noop.NewMeterProvider()))
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	d.writer, err = effect.NewWriter(new(effect.Memory), effect.Operation{
		Name: "archive.write", Peer: "archive-store", Send: a.write, Ask: a.ask, Cap: a.timing.limit(receiptWait), Confirm: a.timing.limit(receiptWait),
	})
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return d, nil
}

// current returns the desk of the next note.
func (a *archive) current() (*desk, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.notes++; a.notes%deskNotes == 0 {
		fresh, err := a.newDesk()
		if err != nil {
			return nil, err
		}
		a.desk = fresh
	}
	return a.desk, nil
}

// put hands a note of the request of ctx to the queue, with what is left of its budget. An answer goes out without its note
// rather than late.
func (a *archive) put(ctx context.Context) error {
	ctx, hop, err := budget.StartHop(ctx, "archive", budget.WithPeer(a.name), budget.WithSpanKind(trace.SpanKindProducer),
		budget.WithMinUseful(a.timing.limit(3*receiptWait)), budget.WithOptional(), budget.WithRefusal(budgetattr.DecisionSkip))
	if err != nil {
		return err
	}
	err = a.enqueue(ctx)
	hop.End(err)
	return err
}

func (a *archive) enqueue(ctx context.Context) error {
	d, err := a.current()
	if err != nil {
		return err
	}
	e, err := envelope.New(ctx, a.clock, envelope.Spec{ID: uuid.NewString(), Limit: a.timing.limit(noteLimit)})
	if err != nil {
		return err
	}
	if err := envelope.Register(ctx, d.records, e); err != nil {
		return err
	}
	n := note{desk: d, request: requestFrom(ctx), headers: propagation.MapCarrier{}, until: e.DeadlineAt}
	if err := e.Inject(n.headers); err != nil {
		return err
	}
	propagation.TraceContext{}.Inject(ctx, n.headers)
	a.background.Go(func() { a.deliver(n) })
	return nil
}

// deliver plays the broker.
func (a *archive) deliver(n note) {
	ctx := withRequest(propagation.TraceContext{}.Extract(context.Background(), n.headers), n.request)
	expires := has(ctx, ExpiredInQueue)
	if expires {
		time.Sleep(time.Until(n.until) + 2*time.Millisecond)
	}
	e, err := envelope.Extract(n.headers)
	if err != nil {
		return // the message cannot be read; nobody waits for it
	}
	d := n.desk.consumer.Handle(ctx, envelope.Delivery{Envelope: e, Name: "archive note", Headers: n.headers}, func(ctx context.Context, run *envelope.Run) error {
		_, err := n.desk.writer.Do(ctx, run.ID(), effect.Key(run.ID(), "note"), []byte("an answer went out"))
		return err
	})
	if expires && d.Outcome == budgetattr.OutcomeExpiredInQueue {
		a.faults.took(ctx, ExpiredInQueue, a.name, "the note had expired when it was taken from the queue")
	}
}

// write is the destination's side of a note. With uncertain_effect it takes the note and its receipt is lost.
func (a *archive) write(ctx context.Context, _ effect.Request) ([]byte, error) {
	if !has(ctx, UncertainEffect) {
		return nil, a.spend(ctx, "archive", noteWork)
	}
	<-ctx.Done()
	a.faults.took(ctx, UncertainEffect, a.name, "the note was taken and its receipt lost")
	return nil, context.Cause(ctx)
}

// ask looks for a note. The store that loses receipts cannot tell.
func (a *archive) ask(ctx context.Context, _ string) (effect.Presence, []byte, error) {
	if has(ctx, UncertainEffect) {
		return effect.Unknown, nil, nil
	}
	return effect.Present, nil, nil
}
