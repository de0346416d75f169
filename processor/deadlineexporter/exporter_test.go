package deadlineexporter

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newWriter(t *testing.T) *writer {
	t.Helper()
	counters, err := newCounters(componenttest.NewNopTelemetrySettings().MeterProvider)
	if err != nil {
		t.Fatal(err)
	}
	return &writer{counters: counters}
}

// mixed holds a hop, a span that is none, and one with an impossible time.
func mixed() ptrace.Traces {
	td := hops(1)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	inner := spans.AppendEmpty()
	inner.SetTraceID(pcommon.TraceID{1})
	inner.SetSpanID(pcommon.SpanID{2})
	inner.SetParentSpanID(pcommon.SpanID{1})
	inner.SetKind(ptrace.SpanKindInternal)
	bad := spans.AppendEmpty()
	bad.SetTraceID(pcommon.TraceID{1})
	bad.SetSpanID(pcommon.SpanID{3})
	bad.SetName("backwards")
	bad.SetStartTimestamp(2)
	bad.SetEndTimestamp(1)
	return td
}

func TestConvert(t *testing.T) {
	r, err := newWriter(t).convert(t.Context(), mixed())
	if err != nil {
		t.Fatal(err)
	}
	b := r.(*request).batch
	if len(b.Rows) != 1 || len(b.Quarantined) != 1 || r.ItemsCount() != 2 {
		t.Fatalf("%d rows, %d quarantined", len(b.Rows), len(b.Quarantined))
	}
	if q := b.Quarantined[0]; q.Reason != hop.ReasonBeforeStart || q.Name != "backwards" || q.Service != "value" || q.JSON == "" {
		t.Errorf("quarantined %+v", q)
	}
}

func TestRequestsSurviveTheQueue(t *testing.T) {
	r, err := newWriter(t).convert(t.Context(), mixed())
	if err != nil {
		t.Fatal(err)
	}
	data, err := encoding{}.Marshal(t.Context(), r)
	if err != nil || len(data) != r.BytesSize() {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	_, again, err := encoding{}.Unmarshal(data)
	if err != nil || !reflect.DeepEqual(again.(*request).batch, r.(*request).batch) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestMergeAndSplitLoseNothing(t *testing.T) {
	w := newWriter(t)
	for _, c := range []struct {
		sizer exporterhelper.RequestSizerType
		max   int
	}{
		{exporterhelper.RequestSizerTypeItems, 0}, {exporterhelper.RequestSizerTypeItems, 7}, {exporterhelper.RequestSizerTypeItems, 1000},
		{exporterhelper.RequestSizerTypeBytes, 2000},
	} {
		first, _ := w.convert(t.Context(), hops(20))
		second, _ := w.convert(t.Context(), mixed())
		parts, err := first.MergeSplit(t.Context(), c.max, c.sizer, second)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for i, p := range parts {
			total += p.ItemsCount()
			if c.sizer == exporterhelper.RequestSizerTypeItems && c.max > 0 && p.ItemsCount() > c.max {
				t.Errorf("a part of %d above %d", p.ItemsCount(), c.max)
			}
			if i > 0 && p.ItemsCount() > parts[i-1].ItemsCount() {
				t.Error("a part is larger than the one before")
			}
		}
		if total != 22 {
			t.Errorf("%+v: %d spans, want 22", c, total)
		}
	}
}

func TestWritesAndRetries(t *testing.T) {
	store := storagetest.Open(t)
	w := newWriter(t)
	w.db = store.DB
	r, err := w.convert(t.Context(), mixed())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is a retry of an insert whose answer was lost
		if err := w.push(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Engine.Query("SELECT count() FROM " + store.Database + ".hops FINAL")
	if err != nil || got != "1\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := store.Engine.Query("DROP TABLE " + store.Database + ".hops"); err != nil {
		t.Fatal(err)
	}
	if err := w.push(t.Context(), r); err == nil || consumererror.IsPermanent(err) {
		t.Errorf("a missing table, which migrations may bring: %v", err)
	}
	store.Engine.Kill()
	if err := w.push(t.Context(), r); err == nil || consumererror.IsPermanent(err) {
		t.Errorf("an engine that is away: %v", err)
	}
}

// Spans are not copied for an exporter that only reads them.
func TestSpansAreOnlyRead(t *testing.T) {
	factory := NewFactory()
	config := factory.CreateDefaultConfig().(*Config)
	config.DSN = "http://127.0.0.1:1/laxity"
	traces, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	if err != nil {
		t.Fatal(err)
	}
	if traces.Capabilities().MutatesData {
		t.Error("the exporter says that it changes spans")
	}
	if err := traces.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLifecycle(t *testing.T) {
	f := NewFactory()
	config := f.CreateDefaultConfig().(*Config)
	if config.Validate() == nil {
		t.Error("a DSN is needed")
	}
	config.DSN = "http://127.0.0.1:1/laxity"
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
	e, err := f.CreateTraces(t.Context(), exportertest.NewNopSettings(f.Type()), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Start(t.Context(), componenttest.NewNopHost()), e.Shutdown(context.Background())); err != nil {
		t.Error(err)
	}
}

// A bad span may come without the name of its service.
func TestIssueQuarantinedSpanWithoutService(t *testing.T) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	ss := rs.ScopeSpans().AppendEmpty()
	if q := quarantined(hop.ReasonBeforeStart, rs, ss, ss.Spans().AppendEmpty()); q.Service != "" {
		t.Errorf("service %q", q.Service)
	}
}
