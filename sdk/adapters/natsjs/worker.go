package natsjs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
)

// Headers that a message gets when it is routed because it could not run.
const (
	HeaderRefusal = "Work-Refusal"
	HeaderOutcome = "Work-Outcome"
)

// Worker runs the units that a consumer of a stream delivers.
type Worker struct {
	// JetStream is where expired work is routed; Messages is the pull consumer that delivers.
	JetStream jetstream.JetStream
	Messages  jetstream.Consumer
	// Units checks and runs what is delivered.
	Units *envelope.Consumer
	// Name names the kind of work, for spans and metrics.
	Name string
	// Work does it.
	Work func(ctx context.Context, run *envelope.Run, payload []byte) error
	// Concurrency is how many units may run at once; zero means one.
	Concurrency int
	// Each, if given, is told what became of each delivery, after the broker was told.
	Each func(envelope.Disposition, error)
}

// Run takes deliveries until ctx ends. Then the work that runs is told to stop by the cause shutdown, and is left to another
// worker; Run returns when all of it has stopped.
func (w *Worker) Run(ctx context.Context) error {
	slots := max(w.Concurrency, 1)
	// One at a time, when a slot is free: what lies here unseen would be delivered to another, and run twice.
	messages, err := w.Messages.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return fmt.Errorf("worker %s: %w", w.Name, err)
	}
	defer messages.Stop()
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	over := context.AfterFunc(ctx, func() {
		messages.Stop()
		stop(budget.CauseError(budgetattr.CauseShutdown))
	})
	defer over()
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, slots)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		msg, err := messages.Next()
		switch {
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return nil
		case errors.Is(err, jetstream.ErrNoHeartbeat):
			<-free // the server is away; the client reconnects
			continue
		case err != nil:
			return fmt.Errorf("worker %s: %w", w.Name, err)
		}
		running.Go(func() {
			defer func() { <-free }()
			w.one(work, msg)
		})
	}
}

// one runs a delivery and tells the broker what became of it.
func (w *Worker) one(ctx context.Context, msg jetstream.Msg) {
	var d envelope.Disposition
	headers := carrier(msg.Headers())
	e, err := envelope.Extract(headers)
	switch {
	case ctx.Err() != nil:
		d, err = envelope.Disposition{Action: envelope.Retry}, msg.Nak()
	case err != nil:
		d = envelope.Disposition{Action: envelope.Ack, Outcome: budgetattr.OutcomeRejected, Err: err}
		err = msg.TermWithReason("invalid envelope")
	default:
		d = w.handle(ctx, msg, headers, e)
		err = w.settle(context.WithoutCancel(ctx), msg, d)
	}
	if w.Each != nil {
		w.Each(d, err)
	}
}

func (w *Worker) handle(ctx context.Context, msg jetstream.Msg, headers propagation.HeaderCarrier, e envelope.Envelope) envelope.Disposition {
	// While this worker lives, the broker gives the message to nobody else.
	beat := time.NewTicker(w.beat())
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-beat.C:
				_ = msg.InProgress()
			}
		}
	})
	defer func() {
		beat.Stop()
		close(done)
		beating.Wait()
	}()
	kv := []attribute.KeyValue{attribute.String("messaging.system", "nats"), attribute.String("messaging.destination.name", msg.Subject())}
	first := false
	if meta, err := msg.Metadata(); err == nil {
		first = meta.NumDelivered == 1
		kv = append(kv, attribute.Int64("messaging.nats.deliveries", int64(meta.NumDelivered)))
	}
	return w.Units.Handle(ctx, envelope.Delivery{Envelope: e, Name: w.Name, Headers: headers, Attributes: kv, First: first},
		func(ctx context.Context, r *envelope.Run) error { return w.Work(ctx, r, msg.Data()) })
}

func (w *Worker) beat() time.Duration {
	if info := w.Messages.CachedInfo(); info != nil && info.Config.AckWait > 0 {
		return max(info.Config.AckWait/3, 10*time.Millisecond)
	}
	return 10 * time.Second
}

// settleTime bounds what is said to the broker after the work.
const settleTime = 5 * time.Second

func (w *Worker) settle(ctx context.Context, msg jetstream.Msg, d envelope.Disposition) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	switch d.Action {
	case envelope.Retry:
		return msg.NakWithDelay(max(d.After, time.Millisecond))
	case envelope.Route:
		if msg.Headers().Get(HeaderRefusal) != "" {
			break // it is where it was routed to
		}
		routed := &nats.Msg{Subject: d.To, Data: msg.Data(), Header: nats.Header{}}
		for k, v := range msg.Headers() {
			if k != nats.MsgIdHdr {
				routed.Header[k] = v
			}
		}
		routed.Header.Set(HeaderRefusal, string(d.Reason))
		routed.Header.Set(HeaderOutcome, string(d.Outcome))
		id := msg.Headers().Get(nats.MsgIdHdr)
		if id == "" {
			id = carrier(msg.Headers()).Get(envelope.HeaderPrefix + "cancellation-id")
		}
		if _, err := w.JetStream.PublishMsg(ctx, routed, jetstream.WithMsgID(id+"/routed")); err != nil {
			return errors.Join(fmt.Errorf("route to %s: %w", d.To, err), msg.NakWithDelay(time.Second))
		}
	}
	return msg.DoubleAck(ctx)
}
