package deadlineexporter

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/metric"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/processor/pspan"
	"github.com/laxity-dev/laxity/storage"
)

const scopeName = "github.com/laxity-dev/laxity/processor/deadlineexporter"

type writer struct {
	db       *storage.DB
	counters counters
	readers  sync.Pool
}

type counters struct{ hops, quarantined, nonsense metric.Int64Counter }

func newCounters(provider metric.MeterProvider) (c counters, err error) {
	meter := provider.Meter(scopeName)
	for _, m := range []struct {
		counter                 *metric.Int64Counter
		name, unit, description string
	}{
		{&c.hops, "otelcol_exporter_deadline_hops", "{span}", "Hops written; a repeated insert counts again."},
		{&c.quarantined, "otelcol_exporter_deadline_quarantined_spans", "{span}", "Spans written to quarantine."},
		{&c.nonsense, "otelcol_exporter_deadline_dropped_attributes", "{attribute}", "Attributes left out because their values make no sense: not a number, infinite, absurd, mistyped."},
	} {
		if *m.counter, err = meter.Int64Counter(m.name, metric.WithUnit(m.unit), metric.WithDescription(m.description)); err != nil {
			return c, err
		}
	}
	return c, nil
}

// convert makes rows of the spans that are hops, and of the spans that storage cannot hold among the others.
func (w *writer) convert(ctx context.Context, td ptrace.Traces) (xexporterhelper.Request, error) {
	reader, _ := w.readers.Get().(*pspan.Reader)
	if reader == nil {
		reader = &pspan.Reader{}
	}
	defer w.readers.Put(reader)
	batch := &hop.Batch{Rows: make([]hop.Row, 0, td.SpanCount())}
	nonsense := 0
	for _, rs := range td.ResourceSpans().All() {
		reader.Resource(rs.Resource())
		for _, ss := range rs.ScopeSpans().All() {
			reader.Scope(ss.Scope())
			for _, in := range ss.Spans().All() {
				reason := hop.Check(span.TraceID(in.TraceID()), span.ID(in.SpanID()), uint64(in.StartTimestamp()), uint64(in.EndTimestamp()))
				if reason != hop.ReasonNone {
					batch.Quarantined = append(batch.Quarantined, quarantined(reason, rs, ss, in))
					continue
				}
				if !pspan.IsHop(in) {
					continue
				}
				row, dropped := hop.FromSpan(reader.Span(in))
				batch.Rows = append(batch.Rows, row)
				nonsense += dropped
			}
		}
	}
	if nonsense > 0 {
		w.counters.nonsense.Add(ctx, int64(nonsense))
	}
	return newRequest(batch), nil
}

// quarantined keeps a span as it came.
func quarantined(reason hop.Reason, rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, in ptrace.Span) hop.Quarantined {
	one := ptrace.NewTraces()
	r := one.ResourceSpans().AppendEmpty()
	rs.Resource().CopyTo(r.Resource())
	s := r.ScopeSpans().AppendEmpty()
	ss.Scope().CopyTo(s.Scope())
	in.CopyTo(s.Spans().AppendEmpty())
	// An error leaves the text empty; the row's own columns remain.
	text, _ := (&ptrace.JSONMarshaler{}).MarshalTraces(one)
	service := ""
	if v, ok := rs.Resource().Attributes().Get("service.name"); ok {
		service = v.AsString()
	}
	return hop.Quarantined{
		Reason: reason, Trace: span.TraceID(in.TraceID()), Span: span.ID(in.SpanID()), Parent: span.ID(in.ParentSpanID()),
		Service: service, Name: in.Name(), Kind: span.Kind(in.Kind()),
		Start: uint64(in.StartTimestamp()), End: uint64(in.EndTimestamp()), JSON: string(text),
	}.Clean()
}

// push writes one batch. Hops come first: repeated, they replace themselves.
func (w *writer) push(ctx context.Context, r xexporterhelper.Request) error {
	batch := r.(*request).batch
	if err := w.db.InsertHops(ctx, batch.Rows); err != nil {
		return permanence(err)
	}
	w.counters.hops.Add(ctx, int64(len(batch.Rows)))
	if err := w.db.InsertQuarantine(ctx, batch.Quarantined); err != nil {
		return permanence(err)
	}
	w.counters.quarantined.Add(ctx, int64(len(batch.Quarantined)))
	return nil
}

// permanence marks an error that would come again at every retry.
func permanence(err error) error {
	if storage.IsPermanent(err) {
		return consumererror.NewPermanent(err)
	}
	return err
}
