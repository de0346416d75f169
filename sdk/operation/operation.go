// Package operation is for long work that outlives the response that started it: it has a durable id, and its state can be
// asked by anyone who has the id, over HTTP too.
//
// An operation is a unit of work of package envelope. A [Runner] runs it in this process; a broker can deliver it to another
// just as well, and the status is the same. It is recorded as detached work, which is nobody's orphan.
package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Runner runs operations in this process and waits for them at its end. It is safe for concurrent use.
type Runner struct {
	consumer *envelope.Consumer
	store    record.Store
	clock    *envelope.Clock
	running  sync.WaitGroup

	mu   sync.Mutex
	here map[string]envelope.Envelope
}

// NewRunner returns a runner. The consumer must keep its units in the store.
func NewRunner(consumer *envelope.Consumer, store record.Store, clock *envelope.Clock) *Runner {
	return &Runner{consumer: consumer, store: store, clock: clock, here: map[string]envelope.Envelope{}}
}

// Start begins an operation and returns when its id is durable; the work goes on when ctx has ended. Spec.ID is the id;
// starting it again while it runs here changes nothing and returns the envelope it has, and is an error that wraps
// [envelope.ErrClosed] once it is over. Work that ends with [envelope.Again] is run again here. Spec.Limit is the
// operation's own budget and required.
func (r *Runner) Start(ctx context.Context, name string, spec envelope.Spec, work func(context.Context, *envelope.Run) error) (envelope.Envelope, error) {
	if spec.Limit <= 0 {
		return envelope.Envelope{}, fmt.Errorf("operation %s: a limit of its own is required", spec.ID)
	}
	detached := envelope.Detach(ctx, spec.ID)
	e, err := envelope.New(detached, r.clock, spec)
	if err != nil {
		return e, fmt.Errorf("operation %s: %w", spec.ID, err)
	}
	if err := envelope.Register(ctx, r.store, e); err != nil {
		return e, fmt.Errorf("operation: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if running, ok := r.here[spec.ID]; ok {
		return running, nil
	}
	r.here[spec.ID] = e
	r.running.Go(func() {
		r.run(detached, envelope.Delivery{
			Envelope: e, Name: name, Attributes: []attribute.KeyValue{attribute.String(budgetattr.DetachedIDKey, e.CancellationID)},
		}, work)
		r.mu.Lock()
		delete(r.here, spec.ID)
		r.mu.Unlock()
	})
	return e, nil
}

// run is the broker of an operation in this process. It gives up where the operation counts as lost.
func (r *Runner) run(ctx context.Context, d envelope.Delivery, work func(context.Context, *envelope.Run) error) {
	limit := d.Envelope.DeadlineAt.Sub(d.Envelope.CreatedAt) + lostAfter
	for began := time.Now(); ; {
		said := r.consumer.Handle(ctx, d, work)
		if said.Action != envelope.Retry || time.Since(began)+said.After > limit {
			return
		}
		time.Sleep(max(said.After, time.Millisecond))
	}
}

// Wait returns when no operation runs any more. Cancel them first to make that soon.
func (r *Runner) Wait() { r.running.Wait() }

// lostAfter is how long after its deadline an operation that never closed counts as lost: its process died.
const lostAfter = time.Minute

// Status is what anyone may know of an operation.
type Status struct {
	ID string `json:"id"`
	// State is queued, running, closed or lost.
	State   string             `json:"state"`
	Outcome budgetattr.Outcome `json:"outcome,omitempty"`
	Reason  string             `json:"reason,omitempty"`
	// WaitsFor names what a queued operation waits for, if not for its turn.
	WaitsFor   string          `json:"waits_for,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	ClosedAt   time.Time       `json:"closed_at,omitzero"`
	DeadlineAt time.Time       `json:"deadline_at"`
	NeededBy   time.Time       `json:"needed_by,omitzero"`
	Attempts   map[string]int  `json:"attempts,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	// Cancelled tells that it was told to stop; Stopped that nothing of it runs any more.
	Cancelled   *envelope.Cancellation `json:"cancelled,omitempty"`
	Stopped     bool                   `json:"stopped"`
	LateResults int                    `json:"late_results,omitempty"`
}

// StatusOf tells what a unit's record says of it as an operation.
func StatusOf(u envelope.Unit, now time.Time) Status {
	s := Status{
		ID: u.ID(), State: string(u.State), Outcome: u.Outcome, Reason: u.Reason, WaitsFor: u.PausedFor,
		CreatedAt: u.Envelope.CreatedAt, StartedAt: u.StartedAt, ClosedAt: u.ClosedAt,
		DeadlineAt: u.Envelope.DeadlineAt, NeededBy: u.Envelope.NeededBy, Attempts: u.Attempts,
		Result: u.Result, Cancelled: u.Cancelled, Stopped: u.Confirmed(), LateResults: u.LateCount,
	}
	if u.State != envelope.Closed && now.After(u.Envelope.DeadlineAt.Add(lostAfter)) {
		s.State = "lost"
	}
	return s
}

// NewHandler serves the status of operations: GET PATH/ID answers with a [Status], DELETE PATH/ID cancels the operation and
// all below it and answers 202 with the status then; it has stopped when stopped is true. Mount it under any path. Who may
// ask is for the caller to decide.
func NewHandler(s record.Store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{id}", func(w http.ResponseWriter, r *http.Request) { answer(w, r, s, http.StatusOK) })
	mux.HandleFunc("DELETE /{id}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		if _, err := envelope.GetUnit(r.Context(), s, id); err == nil {
			_, err = envelope.Cancel(r.Context(), s, id, envelope.Cancellation{By: "http"})
			if err != nil {
				problem(w, http.StatusServiceUnavailable, err)
				return
			}
		}
		answer(w, r, s, http.StatusAccepted)
	})
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, s record.Store, status int) {
	u, err := envelope.GetUnit(r.Context(), s, r.PathValue("id"))
	switch {
	case errors.Is(err, record.ErrNotFound), errors.Is(err, record.ErrKey):
		problem(w, http.StatusNotFound, errors.New("no such operation"))
		return
	case err != nil:
		problem(w, http.StatusServiceUnavailable, errors.New("the store of operations does not answer"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(StatusOf(u, time.Now()))
}

func problem(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": err.Error()})
}
