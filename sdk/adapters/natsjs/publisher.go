package natsjs

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Publisher hands units of work to a stream. It is safe for concurrent use.
type Publisher struct {
	js    jetstream.JetStream
	store record.Store
	clock *envelope.Clock
}

// NewPublisher returns a publisher that registers units in the store.
func NewPublisher(js jetstream.JetStream, store record.Store, clock *envelope.Clock) *Publisher {
	return &Publisher{js: js, store: store, clock: clock}
}

// Send registers a unit and publishes its message. Sending the same unit again is harmless: as long as it has not run since,
// the stream drops the second message, and the unit's own record is what counts. A unit that paused is sent the same way
// when it is to go on. A unit that is closed is not sent: [envelope.ErrClosed]; a parent that is executed again finds its
// result with [envelope.Await]. It is a hop of ctx.
func (p *Publisher) Send(ctx context.Context, subject string, e envelope.Envelope, payload []byte) error {
	ctx, hop, err := budget.StartHop(ctx, "publish "+subject, budget.WithSpanKind(trace.SpanKindProducer), budget.WithAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.destination.name", subject),
		attribute.String(budgetattr.WorkIDKey, e.CancellationID)))
	if err != nil {
		return err
	}
	err = hop.Err(p.send(ctx, subject, e, payload))
	hop.End(err)
	return err
}

func (p *Publisher) send(ctx context.Context, subject string, e envelope.Envelope, payload []byte) error {
	if err := envelope.Register(ctx, p.store, e); err != nil {
		return err
	}
	u, err := envelope.GetUnit(ctx, p.store, e.CancellationID)
	if err != nil {
		return fmt.Errorf("send %s: %w", e.CancellationID, err)
	}
	if now := p.clock.Read(); now.Reference == e.Clock && now.At.After(e.QueuedAt) {
		e.QueuedAt = now.At
	}
	msg := &nats.Msg{Subject: subject, Data: payload, Header: nats.Header{}}
	headers := propagation.HeaderCarrier(http.Header(msg.Header))
	if err := e.Inject(headers); err != nil {
		return err
	}
	propagation.TraceContext{}.Inject(ctx, headers)
	// A unit that has run may be sent again; one that has not is in the stream already.
	id := e.CancellationID + "/" + strconv.Itoa(u.Run)
	if _, err := p.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id)); err != nil {
		return fmt.Errorf("send %s: %w", e.CancellationID, err)
	}
	return nil
}

// carrier reads the headers of a message, by whatever case its writer gave their names.
func carrier(h nats.Header) propagation.HeaderCarrier {
	read := make(http.Header, len(h))
	for name, values := range h {
		for _, v := range values {
			read.Add(name, v)
		}
	}
	return propagation.HeaderCarrier(read)
}
