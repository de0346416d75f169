package demo

import (
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

type spanKey struct{ trace, span string }

// drawHistory returns the spans of a history by id.
func drawHistory(days int, now time.Time) map[spanKey]*tracepb.Span {
	all := map[spanKey]*tracepb.Span{}
	History(1, days, now, func(_ time.Time, trace []*tracepb.ResourceSpans) bool {
		for _, r := range trace {
			for _, s := range r.ScopeSpans[0].Spans {
				all[spanKey{string(s.TraceId), string(s.SpanId)}] = s
			}
		}
		return true
	})
	return all
}

func attribute64(s *tracepb.Span, key string) (float64, bool) {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value.GetDoubleValue(), true
		}
	}
	return 0, false
}

func TestHistoryOfTwoWeeks(t *testing.T) {
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	all := drawHistory(14, now)
	if len(all) < 10_000 || len(all) > 60_000 {
		t.Errorf("%d spans, expected a bounded volume of 10,000 to 60,000", len(all))
	}
	type sum struct{ margin, n float64 }
	margins := map[string]sum{}
	for key, s := range all {
		start, end := time.Unix(0, int64(s.StartTimeUnixNano)), time.Unix(0, int64(s.EndTimeUnixNano))
		if end.Before(start) || end.After(now) || now.Sub(start) > 14*24*time.Hour {
			t.Fatalf("span %s from %v to %v", s.Name, start, end)
		}
		if len(s.ParentSpanId) > 0 {
			parent := all[spanKey{key.trace, string(s.ParentSpanId)}]
			if parent == nil {
				t.Fatalf("span %s has a parent that is not there", s.Name)
			}
			if s.StartTimeUnixNano < parent.StartTimeUnixNano {
				t.Errorf("span %s starts before its parent %s", s.Name, parent.Name)
			}
			received, entry := attribute64(s, budgetattr.BudgetReceivedKey)
			if before, ok := attribute64(parent, budgetattr.RemainingBeforeKey); entry && ok && received > before {
				t.Errorf("span %s received %v s of the %v s that its parent had left", s.Name, received, before)
			}
		} else if s.Name == "POST "+routeReport {
			day := start.Format(time.DateOnly)
			margin, _ := attribute64(s, budgetattr.MarginKey)
			margins[day] = sum{margins[day].margin + margin, margins[day].n + 1}
		}
	}
	for day := now.AddDate(0, 0, -12); day.Before(now); day = day.AddDate(0, 0, 1) {
		today, before := margins[day.Format(time.DateOnly)], margins[day.AddDate(0, 0, -1).Format(time.DateOnly)]
		if today.margin/today.n >= before.margin/before.n {
			t.Errorf("margin of %s on %v: mean %v s, the day before %v s", routeReport, day, today.margin/today.n, before.margin/before.n)
		}
	}
}

func TestHistoryDrawnAgainCountsNothingTwice(t *testing.T) {
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	first, again, later := drawHistory(3, now), drawHistory(3, now), drawHistory(3, now.AddDate(0, 0, 1))
	shared := 0
	for key, s := range first {
		if a := again[key]; a == nil || a.StartTimeUnixNano != s.StartTimeUnixNano || a.EndTimeUnixNano != s.EndTimeUnixNano {
			t.Fatalf("span %s is another one when drawn again", s.Name)
		}
		if l := later[key]; l != nil {
			shared++
			if l.StartTimeUnixNano != s.StartTimeUnixNano || l.Name != s.Name {
				t.Fatalf("span %s starts at another time when drawn a day later", s.Name)
			}
		}
	}
	if len(first) != len(again) || shared < len(first)/3 {
		t.Errorf("%d spans, %d when drawn again, %d of them a day later", len(first), len(again), shared)
	}
}

// What account does not say, the lengths of its calls do, after two days already.
func TestHistoryHasOneHiddenLimit(t *testing.T) {
	var calls []verdict.Call
	History(1, 2, time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC), func(_ time.Time, trace []*tracepb.ResourceSpans) bool {
		calls = append(calls, verdict.Calls(tracefile.Spans(trace))...)
		return true
	})
	found := limit.Find(calls)
	if len(found) != 1 {
		t.Fatalf("%+v, want one limit", found)
	}
	edge := verdict.Edge{Caller: "account", Peer: "points", Operation: "POST /points"}
	if l := found[0]; l.Edge != edge || l.At != pointsLimit || !l.Round || l.Cut < 10 || l.Outlived != l.Cut {
		t.Errorf("%+v", l)
	}
}
