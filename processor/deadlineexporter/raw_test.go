package deadlineexporter

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/clickhouseexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/storage/storagetest"
)

// varied holds spans with everything that the layout has a place for.
func varied() ptrace.Traces {
	td := hops(3)
	rs := td.ResourceSpans().AppendEmpty() // without a service
	rs.Resource().Attributes().PutInt("process.pid", 7)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("scope")
	ss.Scope().SetVersion("1.2")
	full := ss.Spans().AppendEmpty()
	full.SetTraceID(pcommon.TraceID{0xab, 15: 1})
	full.SetSpanID(pcommon.SpanID{0xcd, 7: 2})
	full.SetName("naïve\x00name")
	full.SetKind(ptrace.SpanKindProducer)
	full.TraceState().FromRaw("a=b,c=d")
	full.SetStartTimestamp(pcommon.Timestamp(time.Date(2024, 5, 6, 23, 59, 59, 999_999_999, time.UTC).UnixNano()))
	full.SetEndTimestamp(full.StartTimestamp() + 1)
	full.Status().SetCode(ptrace.StatusCodeError)
	full.Status().SetMessage("no")
	attrs := full.Attributes()
	attrs.PutBool("yes", true)
	attrs.PutStr("again", "1")
	attrs.PutStr("z", "last")
	attrs.PutDouble("float", 0.1)
	attrs.PutStr("", "empty key")
	attrs.PutEmpty("nothing")
	attrs.PutEmptyBytes("bytes").FromRaw([]byte{1, 2})
	_ = attrs.PutEmptySlice("list").FromRaw([]any{"a", 1, true})
	_ = attrs.PutEmptyMap("map").FromRaw(map[string]any{"k": "v"})
	for _, name := range []string{"first", "second"} {
		e := full.Events().AppendEmpty()
		e.SetName(name)
		e.SetTimestamp(full.StartTimestamp())
		e.Attributes().PutStr("of", name)
	}
	full.Events().At(1).Attributes().Clear()
	link := full.Links().AppendEmpty()
	link.SetTraceID(pcommon.TraceID{1})
	link.SetSpanID(pcommon.SpanID{2})
	link.TraceState().FromRaw("x=y")
	link.Attributes().PutInt("n", 1)
	full.Links().AppendEmpty()
	ss.Spans().AppendEmpty() // of zeros
	return td
}

// send writes spans through an exporter without a queue.
func send(t *testing.T, factory exporter.Factory, settings map[string]any, td ptrace.Traces) {
	t.Helper()
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(settings).Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	e, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	if err := e.ConsumeTraces(t.Context(), td); err != nil {
		t.Error(err)
	}
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestRawRowsAreThoseOfContrib(t *testing.T) {
	store := storagetest.Open(t)
	theirs := storagetest.OpenOn(t, store.Engine)
	td := varied()
	send(t, NewRawFactory(), map[string]any{"dsn": store.DSN(), "sending_queue": map[string]any{"enabled": false}}, td)
	send(t, clickhouseexporter.NewFactory(), map[string]any{"endpoint": theirs.DSN(), "database": theirs.Database, "create_schema": false,
		"async_insert": false, "sending_queue": map[string]any{"enabled": false},
		"connection_params": map[string]any{"session_timezone": "UTC"}}, td)
	for _, table := range []string{"otel_traces", "otel_traces_trace_id_ts"} {
		rows := func(s *storagetest.Store) string {
			text, err := s.Engine.Query("SELECT * FROM " + s.Database + "." + table + " ORDER BY ALL FORMAT JSONEachRow")
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		ours, want := rows(store), rows(theirs)
		if ours != want || strings.Count(want, "\n") < 4 {
			t.Errorf("%s:\n%s\nwant\n%s", table, ours, want)
		}
	}
}

// What a queue on disk takes is read only; what a queue in memory takes is merged.
func TestRawSpansAreCopiedForAQueueInMemoryOnly(t *testing.T) {
	factory := NewRawFactory()
	for _, disk := range []bool{false, true} {
		config := factory.CreateDefaultConfig().(*Config)
		config.DSN = "http://127.0.0.1:1/laxity"
		if disk {
			id := component.MustNewID("file_storage")
			config.Queue.Get().StorageID = &id
		}
		traces, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
		if err != nil {
			t.Fatal(err)
		}
		if traces.Capabilities().MutatesData == disk {
			t.Errorf("queue on disk %v: the exporter says that it changes spans: %v", disk, !disk)
		}
		if err := traces.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
