package budgettest

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Recorder keeps the spans of a test. It is safe for concurrent use.
type Recorder struct {
	spans    *tracetest.SpanRecorder
	provider *sdktrace.TracerProvider
}

// NewRecorder returns a recorder that has seen nothing.
func NewRecorder() *Recorder {
	s := tracetest.NewSpanRecorder()
	return &Recorder{spans: s, provider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s))}
}

// TracerProvider is where the spans to record must go.
func (r *Recorder) TracerProvider() trace.TracerProvider { return r.provider }

// Edge returns an edge of the policy that is recorded.
func (r *Recorder) Edge(p budget.Policy) *budget.Edge {
	return budget.NewEdge(p, budget.WithTracerProvider(r.provider))
}

// Span is one span that has ended.
type Span struct {
	sdktrace.ReadOnlySpan
}

// Stage returns the stage of the hop, "" for other spans.
func (s Span) Stage() string { return s.Text(budgetattr.StageKey) }

// Decision returns what was decided for the hop.
func (s Span) Decision() budgetattr.Decision {
	return budgetattr.Decision(s.Text(budgetattr.DecisionKey))
}

// Value returns an attribute, the last one of that key.
func (s Span) Value(key string) (attribute.Value, bool) {
	var v attribute.Value
	found := false
	for _, kv := range s.Attributes() {
		if string(kv.Key) == key {
			v, found = kv.Value, true
		}
	}
	return v, found
}

// Text returns a string attribute, "" if it is missing.
func (s Span) Text(key string) string {
	v, _ := s.Value(key)
	return v.AsString()
}

// Seconds returns an attribute in seconds, and whether it is there.
func (s Span) Seconds(key string) (time.Duration, bool) {
	v, ok := s.Value(key)
	return time.Duration(v.AsFloat64() * float64(time.Second)), ok
}

// Int returns an integer attribute, zero if it is missing.
func (s Span) Int(key string) int {
	v, _ := s.Value(key)
	return int(v.AsInt64())
}

// Spans returns the spans that have ended, in the order of their ends.
func (r *Recorder) Spans() []Span {
	var all []Span
	for _, s := range r.spans.Ended() {
		all = append(all, Span{s})
	}
	return all
}

// Stage returns the hops of a stage that have ended.
func (r *Recorder) Stage(name string) []Span {
	var of []Span
	for _, s := range r.Spans() {
		if s.Stage() == name {
			of = append(of, s)
		}
	}
	return of
}

// Entries returns the entry spans that have ended.
func (r *Recorder) Entries() []Span {
	var of []Span
	for _, s := range r.Spans() {
		if s.Text(budgetattr.OutcomeKey) != "" {
			of = append(of, s)
		}
	}
	return of
}

// Last returns the hop of a stage that ended last, and waits a little for one.
func (r *Recorder) Last(t testing.TB, stage string) Span {
	t.Helper()
	var of []Span
	if !eventually(func() bool { of = r.Stage(stage); return len(of) > 0 }) {
		t.Fatalf("no hop of stage %q has ended", stage)
	}
	return of[len(of)-1]
}

// patience is how long what must happen soon is waited for.
const patience = 10 * time.Second

func eventually(ok func() bool) bool {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
