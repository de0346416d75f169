package quarantineconnector

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
)

const scopeName = "github.com/laxity-dev/laxity/processor/quarantineconnector"

type quarantine struct {
	component.StartFunc
	component.ShutdownFunc
	kept, refused consumer.Traces
	counters      counters
}

type counters struct{ spans, events metric.Int64Counter }

func newCounters(provider metric.MeterProvider) (c counters, err error) {
	meter := provider.Meter(scopeName)
	if c.spans, err = meter.Int64Counter("otelcol_connector_quarantine_spans", metric.WithUnit("{span}"),
		metric.WithDescription("Spans sent to quarantine, by reason.")); err != nil {
		return c, err
	}
	c.events, err = meter.Int64Counter("otelcol_connector_quarantine_events", metric.WithUnit("{event}"),
		metric.WithDescription("Span events removed because their time cannot be stored."))
	return c, err
}

// Capabilities says that spans are moved.
func (q *quarantine) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeTraces passes the spans on. An error of either side is the caller's to retry.
func (q *quarantine) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	events := removeEvents(td)
	if events > 0 {
		q.counters.events.Add(ctx, int64(events))
	}
	reasons := map[hop.Reason]int64{}
	if !anyRefused(td) {
		return q.kept.ConsumeTraces(ctx, td)
	}
	refused := split(td, reasons)
	for reason, n := range reasons {
		q.counters.spans.Add(ctx, n, metric.WithAttributes(attribute.String("reason", string(reason))))
	}
	err := q.refused.ConsumeTraces(ctx, refused)
	if td.SpanCount() > 0 {
		err = errors.Join(err, q.kept.ConsumeTraces(ctx, td))
	}
	return err
}

// check says why a span is refused.
func check(s ptrace.Span) hop.Reason {
	return hop.Check(span.TraceID(s.TraceID()), span.ID(s.SpanID()), uint64(s.StartTimestamp()), uint64(s.EndTimestamp()))
}

func anyRefused(td ptrace.Traces) bool {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if check(s) != hop.ReasonNone {
					return true
				}
			}
		}
	}
	return false
}

// removeEvents removes events whose times storage cannot hold, and returns how many.
func removeEvents(td ptrace.Traces) (removed int) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if s.Events().Len() == 0 {
					continue
				}
				s.Events().RemoveIf(func(e ptrace.SpanEvent) bool {
					bad := e.Timestamp() > pcommon.Timestamp(hop.Latest)
					if bad {
						removed++
					}
					return bad
				})
			}
		}
	}
	return removed
}

// split moves the refused spans out of td and counts them by reason.
func split(td ptrace.Traces, reasons map[hop.Reason]int64) ptrace.Traces {
	out := ptrace.NewTraces()
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		var toResource ptrace.ResourceSpans
		first := true
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			var to ptrace.ScopeSpans
			found := false
			ss.Spans().RemoveIf(func(s ptrace.Span) bool {
				reason := check(s)
				if reason == hop.ReasonNone {
					return false
				}
				reasons[reason]++
				if first {
					toResource = out.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(toResource.Resource())
					toResource.SetSchemaUrl(rs.SchemaUrl())
					first = false
				}
				if !found {
					to = toResource.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(to.Scope())
					to.SetSchemaUrl(ss.SchemaUrl())
					found = true
				}
				s.MoveTo(to.Spans().AppendEmpty())
				return true
			})
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return out
}
