// Package durabletest holds the judgement against what the sdk records of work that waits: each scenario is recorded by the
// sdk itself, annotated as the collector does, and judged as one trace.
package durabletest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/operation"
	"github.com/laxity-dev/laxity/sdk/record"
)

type site struct {
	*testing.T
	spans    *tracetest.SpanRecorder
	provider budget.Option
	store    *record.Memory
	clock    *envelope.Clock
	consumer *envelope.Consumer
	headers  propagation.MapCarrier
}

func newSite(t *testing.T) *site {
	s := &site{T: t, spans: tracetest.NewSpanRecorder(), store: new(record.Memory), clock: envelope.NewClock(envelope.WithTolerance(1)), headers: propagation.MapCarrier{}}
	s.provider = budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans)))
	var err error
	s.consumer, err = envelope.NewConsumer(t.Context(), budget.Policy{Cleanup: 100 * time.Millisecond}, s.store, s.clock, s.provider)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request runs do as a request with a budget; its trace goes on in what it sends.
func (s *site) request(d time.Duration, do func(ctx context.Context)) {
	ctx, entry, err := budget.NewEdge(budget.Policy{Default: d}, s.provider).Start(s.Context(), budget.Arrival{Name: "request", Kind: trace.SpanKindServer})
	if err != nil {
		s.Fatal(err)
	}
	do(ctx)
	entry.End(nil)
}

// send hands a unit on as a publisher does, in a producer's span.
func (s *site) send(ctx context.Context, e envelope.Envelope, err error) envelope.Envelope {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	hopCtx, hop, err := budget.StartHop(ctx, "publish", budget.WithSpanKind(trace.SpanKindProducer))
	if err != nil {
		s.Fatal(err)
	}
	if err := envelope.Register(hopCtx, s.store, e); err != nil {
		s.Fatal(err)
	}
	propagation.TraceContext{}.Inject(hopCtx, s.headers)
	hop.End(nil)
	return e
}

func (s *site) deliver(e envelope.Envelope, work func(context.Context, *envelope.Run) error) envelope.Disposition {
	return s.consumer.Handle(s.Context(), envelope.Delivery{Envelope: e, Name: "job", Headers: s.headers}, work)
}

// rules judges what was recorded as one trace, over each entry, and returns what was found.
func (s *site) rules() []verdict.Rule {
	s.Helper()
	var spans []span.Span
	for _, r := range s.spans.Ended() {
		p := span.Span{
			Trace: span.TraceID(r.SpanContext().TraceID()), ID: span.ID(r.SpanContext().SpanID()), Parent: span.ID(r.Parent().SpanID()),
			Service: "desk", Name: r.Name(), Kind: span.Kind(r.SpanKind()), StatusMessage: r.Status().Description,
			Start: r.StartTime().UnixNano(), End: r.EndTime().UnixNano(), Attrs: attributes(r.Attributes()), Resource: span.Attributes{"service.name": "desk"},
		}
		for _, e := range r.Events() {
			p.Events = append(p.Events, span.Event{Name: e.Name, Time: e.Time.UnixNano(), Attrs: attributes(e.Attributes)})
		}
		classify.Builtin().Annotate(&p)
		spans = append(spans, p)
	}
	var rules []verdict.Rule
	for i := range spans {
		if i > 0 && spans[i].Trace != spans[0].Trace {
			s.Fatalf("%s is in a trace of its own", spans[i].Name)
		}
	}
	for _, f := range verdict.Judge(spans, verdict.Options{}).Findings {
		rules = append(rules, f.Rule)
	}
	return rules
}

func attributes(kv []attribute.KeyValue) span.Attributes {
	a := span.Attributes{}
	for _, p := range kv {
		a[string(p.Key)] = p.Value.AsInterface()
	}
	return a
}

func (s *site) expect(found []verdict.Rule, want ...verdict.Rule) {
	s.Helper()
	for _, r := range want {
		if !slices.Contains(found, r) {
			s.Errorf("%s is not among the findings %v", r, found)
		}
	}
}

// expectNo says what must not be said.
func (s *site) expectNo(found []verdict.Rule, not ...verdict.Rule) {
	s.Helper()
	for _, r := range not {
		if slices.Contains(found, r) {
			s.Errorf("%s is among the findings %v", r, found)
		}
	}
}

var blame = []verdict.Rule{verdict.RuleOrphanWork, verdict.RuleRenewedClock, verdict.RuleDroppedHeader, verdict.RuleLate, verdict.RuleUncertain, verdict.RuleIgnoredCancel}

func TestWorkThatOutlivesItsRequestInAQueueIsNobodysOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var e envelope.Envelope
		s.request(2*time.Second, func(ctx context.Context) {
			made, err := envelope.New(ctx, s.clock, envelope.Spec{ID: "job"})
			e = s.send(ctx, made, err)
		})
		time.Sleep(500 * time.Millisecond)
		s.deliver(e, func(ctx context.Context, _ *envelope.Run) error { time.Sleep(time.Second); return ctx.Err() })
		s.expectNo(s.rules(), blame...)
	})
}

func TestExpiredInQueueIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var e envelope.Envelope
		s.request(2*time.Second, func(ctx context.Context) {
			made, err := envelope.New(ctx, s.clock, envelope.Spec{ID: "job"})
			e = s.send(ctx, made, err)
		})
		time.Sleep(3 * time.Second)
		s.deliver(e, nil)
		s.expect(s.rules(), verdict.RuleExpiredInQueue)
	})
}

func TestAChildThatIgnoresItsCancellationIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var e envelope.Envelope
		s.request(2*time.Second, func(ctx context.Context) {
			made, err := envelope.New(ctx, s.clock, envelope.Spec{ID: "job"})
			e = s.send(ctx, made, err)
		})
		time.AfterFunc(500*time.Millisecond, func() {
			if _, err := envelope.Cancel(t.Context(), s.store, "job", envelope.Cancellation{Cause: budgetattr.CauseClientDisconnect}); err != nil {
				t.Error(err)
			}
		})
		s.deliver(e, func(context.Context, *envelope.Run) error { time.Sleep(time.Second); return nil })
		time.Sleep(time.Second)
		s.expect(s.rules(), verdict.RuleIgnoredCancel)
	})
}

// What a person granted anew is no renewed clock.
func TestARegrantIsNoRenewedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var old, e envelope.Envelope
		s.request(2*time.Second, func(ctx context.Context) {
			made, err := envelope.New(ctx, s.clock, envelope.Spec{ID: "job"})
			old = s.send(ctx, made, err)
			made, err = envelope.Regrant(ctx, s.clock, old, "manager", envelope.Spec{ID: "job-2", Limit: time.Hour, Reason: "customer waits"})
			e = s.send(ctx, made, err)
		})
		time.Sleep(time.Minute)
		s.deliver(e, func(context.Context, *envelope.Run) error { return nil })
		s.expectNo(s.rules(), blame...)
	})
}

func TestDetachedWorkIsNamedAndNotBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		runner := operation.NewRunner(s.consumer, s.store, s.clock)
		s.request(time.Second, func(ctx context.Context) {
			if _, err := runner.Start(ctx, "export", envelope.Spec{ID: "export", Limit: time.Minute}, func(context.Context, *envelope.Run) error {
				time.Sleep(10 * time.Second)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
		runner.Wait()
		found := s.rules()
		s.expect(found, verdict.RuleDetachedWork)
		s.expectNo(found, blame...)
	})
}

func TestAnEffectIsUncertainOnlyWhereItIs(t *testing.T) {
	for name, c := range map[string]struct {
		presence effect.Presence
		err      error
		want     bool
	}{"found in the reserve": {effect.Present, nil, false}, "cannot be asked": {effect.Unknown, errors.New("away"), true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				w, err := effect.NewWriter(new(effect.Memory), effect.Operation{
					Name: "book", Cap: time.Second, Confirm: time.Second,
					Send: func(ctx context.Context, _ effect.Request) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
					Ask: func(context.Context, string) (effect.Presence, []byte, error) {
						return c.presence, nil, c.err
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				s.request(5*time.Second, func(ctx context.Context) {
					if _, err := w.Do(ctx, "job", "job/book", nil); errors.Is(err, effect.ErrUncertain) != c.want {
						t.Errorf("%v", err)
					}
				})
				if got := slices.Contains(s.rules(), verdict.RuleUncertain); got != c.want {
					t.Errorf("uncertain %v, found %v", c.want, s.rules())
				}
			})
		})
	}
}
