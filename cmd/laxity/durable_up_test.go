package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/operation"
	"github.com/laxity-dev/laxity/sdk/record"
)

// desk hands work from a request to a consumer and exports what both record.
type desk struct {
	*testing.T
	provider *sdktrace.TracerProvider
	store    *record.Memory
	clock    *envelope.Clock
	consumer *envelope.Consumer
}

// request starts work under a budget and returns its trace.
func (d *desk) request(limit time.Duration, do func(ctx context.Context) error) (traceID string) {
	d.Helper()
	ctx, entry, err := budget.NewEdge(budget.Policy{Default: limit}, budget.WithTracerProvider(d.provider)).
		Start(d.Context(), budget.Arrival{Name: "request", Kind: trace.SpanKindServer})
	if err == nil {
		err = do(ctx)
	}
	if err != nil {
		d.Fatal(err)
	}
	entry.End(nil)
	return entry.Span().SpanContext().TraceID().String()
}

// queue sends a unit and returns what delivers it.
func (d *desk) queue(ctx context.Context, e envelope.Envelope, err error) (func(func(context.Context, *envelope.Run) error), error) {
	if err != nil {
		return nil, err
	}
	headers := propagation.MapCarrier{}
	hopCtx, hop, err := budget.StartHop(ctx, "publish", budget.WithSpanKind(trace.SpanKindProducer))
	if err != nil {
		return nil, err
	}
	propagation.TraceContext{}.Inject(hopCtx, headers)
	err = envelope.Register(hopCtx, d.store, e)
	hop.End(err)
	return func(work func(context.Context, *envelope.Run) error) {
		d.consumer.Handle(d.Context(), envelope.Delivery{Envelope: e, Name: "job", Headers: headers}, work)
	}, err
}

// Work that waits is recorded by the sdk, sent through the collector and stored; what is told of it out of storage names what
// happened, and blames nobody where nothing did.
func TestDurableWorkThroughUp(t *testing.T) {
	up := startUp(t, t.TempDir())
	exporter, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpoint(up.grpc), otlptracegrpc.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, store: new(record.Memory), clock: envelope.NewClock(envelope.WithTolerance(time.Millisecond)),
		provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "desk"))))}
	d.consumer, err = envelope.NewConsumer(t.Context(), budget.Policy{Cleanup: 50 * time.Millisecond}, d.store, d.clock, budget.WithTracerProvider(d.provider))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]verdict.Rule{}
	name := map[string]string{}
	scenario := func(what string, trace string, rules ...verdict.Rule) { want[trace], name[trace] = rules, what }

	var deliver func(func(context.Context, *envelope.Run) error)
	send := func(id string) func(ctx context.Context) error {
		return func(ctx context.Context) (err error) {
			e, err := envelope.New(ctx, d.clock, envelope.Spec{ID: id})
			deliver, err = d.queue(ctx, e, err)
			return err
		}
	}
	scenario("done in time", d.request(20*time.Second, send("good")))
	deliver(func(context.Context, *envelope.Run) error { return nil })

	scenario("expired in the queue", d.request(100*time.Millisecond, send("stale")), verdict.RuleExpiredInQueue)
	time.Sleep(120 * time.Millisecond) // in the queue
	deliver(nil)

	scenario("ignores its cancellation", d.request(20*time.Second, send("deaf")), verdict.RuleIgnoredCancel, verdict.RuleOrphanWork)
	told := make(chan struct{})
	returned := make(chan struct{})
	go func() {
		<-told
		if _, err := envelope.Cancel(t.Context(), d.store, "deaf", envelope.Cancellation{Cause: budgetattr.CauseClientDisconnect}); err != nil {
			t.Error(err)
		}
	}()
	deliver(func(ctx context.Context, _ *envelope.Run) error {
		close(told)
		<-ctx.Done()
		time.Sleep(300 * time.Millisecond) // deaf
		close(returned)
		return nil
	})
	<-returned

	scenario("granted anew by a person", d.request(time.Second, func(ctx context.Context) error {
		old, err := envelope.New(ctx, d.clock, envelope.Spec{ID: "old"})
		if err != nil {
			return err
		}
		e, err := envelope.Regrant(ctx, d.clock, old, "manager", envelope.Spec{ID: "new", Limit: time.Hour, Reason: "customer waits"})
		deliver, err = d.queue(ctx, e, err)
		return err
	}))
	deliver(func(context.Context, *envelope.Run) error { return nil })

	runner := operation.NewRunner(d.consumer, d.store, d.clock)
	scenario("outlives its request by design", d.request(time.Second, func(ctx context.Context) error {
		_, err := runner.Start(ctx, "export", envelope.Spec{ID: "export", Limit: time.Minute}, func(context.Context, *envelope.Run) error {
			time.Sleep(200 * time.Millisecond)
			return nil
		})
		return err
	}), verdict.RuleDetachedWork)
	runner.Wait()

	writer, err := effect.NewWriter(new(effect.Memory), effect.Operation{
		Name: "book", Cap: 50 * time.Millisecond, Confirm: 50 * time.Millisecond,
		Send: func(ctx context.Context, _ effect.Request) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
		Ask: func(context.Context, string) (effect.Presence, []byte, error) {
			return effect.Unknown, nil, errors.New("away")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	scenario("a write that may have happened", d.request(5*time.Second, func(ctx context.Context) error {
		if _, err := writer.Do(ctx, "job", "job/book", nil); !errors.Is(err, effect.ErrUncertain) {
			return err
		}
		return nil
	}), verdict.RuleUncertain)

	if err := d.provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, rules := range want {
		var found []verdict.Rule
		var last error
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			var s *verdict.Statement
			if s, last = askStatement(up.page, id); last == nil && s.Spans >= 2 {
				found = nil
				for _, f := range s.Findings {
					found = append(found, f.Rule)
				}
				if len(rules) == 0 || slices.Contains(found, rules[0]) {
					break
				}
			}
			if time.Now().After(deadline) {
				break
			}
		}
		for _, r := range rules {
			if !slices.Contains(found, r) {
				t.Errorf("%s: %s is not among the findings %v (%v)", name[id], r, found, last)
			}
		}
		for _, r := range []verdict.Rule{verdict.RuleOrphanWork, verdict.RuleRenewedClock, verdict.RuleDroppedHeader, verdict.RuleLate} {
			if slices.Contains(found, r) && !slices.Contains(rules, r) {
				t.Errorf("%s: blamed as %s", name[id], r)
			}
		}
	}
}
