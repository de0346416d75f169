package deadlineexporter

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
)

// NewRawFactory returns the factory of the exporter of raw spans. It writes the rows that contrib's clickhouse exporter writes, at
// less cost, and has its name, so that queues on disk and what watches them stay the same.
func NewRawFactory() exporter.Factory {
	return exporter.NewFactory(component.MustNewType("clickhouse"), defaultConfig, exporter.WithTraces(newRaw, component.StabilityLevelBeta))
}

func newRaw(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	config := cfg.(*Config)
	db, err := storage.Open(config.storage())
	if err != nil {
		return nil, fmt.Errorf("exporter of raw spans: %w", err)
	}
	push := func(ctx context.Context, td ptrace.Traces) error {
		return permanence(db.InsertRawSpans(ctx, rawSpans(td)))
	}
	traces, err := exporterhelper.NewTraces(ctx, set, cfg, push,
		exporterhelper.WithQueue(config.Queue),
		exporterhelper.WithTimeout(config.TimeoutConfig),
		exporterhelper.WithRetry(config.BackOffConfig),
		exporterhelper.WithShutdown(func(context.Context) error { return db.Close() }))
	if err != nil {
		return nil, fmt.Errorf("exporter of raw spans: %w", err)
	}
	if queue := config.Queue.Get(); queue != nil && queue.StorageID != nil {
		// What is batched was read back from the disk.
		return reader{traces}, nil
	}
	return traces, nil
}

// rawSpans lays spans out as rows.
func rawSpans(td ptrace.Traces) []storage.RawSpan {
	rows := make([]storage.RawSpan, 0, td.SpanCount())
	for _, rs := range td.ResourceSpans().All() {
		service := ""
		if v, ok := rs.Resource().Attributes().Get("service.name"); ok {
			service = v.AsString()
		}
		resource := texts(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			for _, in := range ss.Spans().All() {
				row := storage.RawSpan{
					Trace: span.TraceID(in.TraceID()), Span: span.ID(in.SpanID()), Parent: span.ID(in.ParentSpanID()),
					State: in.TraceState().AsRaw(), Name: in.Name(), Kind: in.Kind().String(), Service: service, Resource: resource,
					ScopeName: ss.Scope().Name(), ScopeVersion: ss.Scope().Version(), Attrs: texts(in.Attributes()),
					Start: in.StartTimestamp().AsTime(), Duration: uint64(in.EndTimestamp() - in.StartTimestamp()),
					Status: in.Status().Code().String(), StatusMessage: in.Status().Message(),
				}
				for _, e := range in.Events().All() {
					row.Events = append(row.Events, storage.RawEvent{At: e.Timestamp().AsTime(), Name: e.Name(), Attrs: texts(e.Attributes())})
				}
				for _, l := range in.Links().All() {
					row.Links = append(row.Links, storage.RawLink{Trace: span.TraceID(l.TraceID()), Span: span.ID(l.SpanID()),
						State: l.TraceState().AsRaw(), Attrs: texts(l.Attributes())})
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func texts(attrs pcommon.Map) *storage.Texts {
	t := storage.NewTexts(attrs.Len())
	for key, value := range attrs.All() {
		if value.Type() == pcommon.ValueTypeStr {
			t.Add(key, value.Str())
		} else {
			t.Add(key, value.AsString())
		}
	}
	return t
}
