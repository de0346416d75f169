package envelope_test

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// message and broker stand for those of any broker that carries headers.
type message struct {
	headers map[string]string
	body    string
}

type broker map[string][]message

// ExampleConsumer is all that an adapter of a broker does.
func ExampleConsumer() {
	ctx := context.Background()
	store, clock, queues := new(record.Memory), envelope.NewClock(), broker{}

	// The sender: what is left of its own budget goes with the message.
	send := func(e envelope.Envelope, body string) error {
		if err := envelope.Register(ctx, store, e); err != nil {
			return err
		}
		headers := propagation.MapCarrier{}
		if err := e.Inject(headers); err != nil {
			return err
		}
		propagation.TraceContext{}.Inject(ctx, headers)
		queues["mails"] = append(queues["mails"], message{headers, body})
		return nil
	}

	// The receiver: the disposition is the whole conversation with the broker.
	consumer, err := envelope.NewConsumer(ctx, budget.Policy{}, store, clock)
	if err != nil {
		panic(err)
	}
	receive := func(m message) {
		e, err := envelope.Extract(propagation.MapCarrier(m.headers))
		if err != nil {
			fmt.Println("not believed:", err)
			return
		}
		d := consumer.Handle(ctx, envelope.Delivery{Envelope: e, Name: "mail", Headers: propagation.MapCarrier(m.headers)},
			func(ctx context.Context, _ *envelope.Run) error {
				left, _ := budget.Remaining(ctx)
				fmt.Println("sending", m.body, "with time left:", left > 0)
				return nil
			})
		switch d.Action {
		case envelope.Ack:
			fmt.Println("acknowledge:", e.WorkID, d.Outcome)
		case envelope.Retry:
			fmt.Println("deliver again after", d.After)
		case envelope.Route:
			fmt.Println("send to", d.To, "and acknowledge:", d.Outcome)
		}
	}

	good, _ := envelope.New(ctx, clock, envelope.Spec{ID: "mail-1", Limit: time.Minute})
	stale, _ := envelope.New(ctx, clock, envelope.Spec{ID: "mail-2", Limit: time.Minute, MinUseful: time.Minute, ExpiredTo: "dead"})
	for _, e := range []envelope.Envelope{good, stale, good} {
		if err := send(e, "a letter"); err != nil {
			panic(err)
		}
	}
	for _, m := range queues["mails"] {
		receive(m)
	}
	// Output:
	// sending a letter with time left: true
	// acknowledge: mail-1 done
	// send to dead and acknowledge: expired_in_queue
	// acknowledge: mail-1 done
}
