package demo

import (
	"context"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// memory keeps the spans that the services send.
type memory struct {
	mu    sync.Mutex
	spans []*tracepb.ResourceSpans
}

func (m *memory) Start(context.Context) error { return nil }
func (m *memory) Stop(context.Context) error  { return nil }
func (m *memory) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spans = append(m.spans, spans...)
	return nil
}

// play runs a load through fresh services and returns their spans and the effects of faults.
func play(t *testing.T, timing Timing, rates map[Fault]float64, load Load) ([]*tracepb.ResourceSpans, []Effect, Answers) {
	t.Helper()
	var effects []Effect
	faults := NewInjector(rates, nil, func(e Effect) { effects = append(effects, e) })
	kept := &memory{}
	d, err := Start(t.Context(), Config{Spans: kept, Faults: faults, Timing: timing})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := d.Load(t.Context(), load)
	if err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	counts, err := d.Close(ctx)
	if err != nil {
		t.Error(err)
	}
	if got := countSpans(kept.spans); counts.Made != got || counts.Sent != got || counts.Failed != 0 || counts.Dropped != 0 {
		t.Errorf("%d spans arrived, the demo counted %+v", got, counts)
	}
	return kept.spans, effects, answers
}
