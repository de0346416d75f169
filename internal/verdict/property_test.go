package verdict

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("LAXITY_SOAK") == "1" {
		if err := flag.Set("rapid.checks", "50000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// drawTrace makes a trace of several machines: calls with both halves, local spans, messages, budgets, cancellations.
func drawTrace(t *rapid.T) []span.Span {
	n := rapid.IntRange(1, 25).Draw(t, "spans")
	spans := make([]span.Span, 0, n)
	for i := range n {
		s := span.Span{Trace: span.TraceID{15: 1}, ID: caseID(i + 1), Name: fmt.Sprintf("op%d", i%4), Attrs: span.Attributes{}}
		var parent *span.Span
		if i > 0 && rapid.IntRange(0, 19).Draw(t, "root") > 0 {
			parent = &spans[rapid.IntRange(0, i-1).Draw(t, "parent")]
		}
		drawPlace(t, &s, parent)
		drawTimes(t, &s, parent)
		drawFacts(t, &s)
		spans = append(spans, s)
	}
	return spans
}

func drawPlace(t *rapid.T, s, parent *span.Span) {
	hosts := []string{"a-1", "a-2", "b-1", "c-1"}
	host := rapid.SampledFrom(hosts).Draw(t, "host")
	s.Kind = rapid.SampledFrom([]span.Kind{span.KindServer, span.KindServer, span.KindConsumer}).Draw(t, "entry kind")
	if parent != nil {
		s.Parent = parent.ID
		if rapid.IntRange(0, 30).Draw(t, "lost") == 0 {
			s.Parent = caseID(1000 + rapid.IntRange(0, 2).Draw(t, "lost parent"))
		}
		if parent.Kind != span.KindClient && parent.Kind != span.KindProducer && rapid.IntRange(0, 9).Draw(t, "local") > 0 {
			host = parent.Resource.String("service.instance.id")
			s.Kind = rapid.SampledFrom([]span.Kind{span.KindClient, span.KindClient, span.KindInternal, span.KindProducer}).Draw(t, "local kind")
		}
	}
	s.Service = host[:1]
	s.Resource = span.Attributes{"service.instance.id": host}
}

func drawTimes(t *rapid.T, s, parent *span.Span) {
	start, length := epoch, int64(2e9)
	if parent != nil {
		start, length = parent.Start, parent.Duration().Nanoseconds()
	}
	s.Start = start + rapid.Int64Range(0, max(length, 1)).Draw(t, "start")
	s.End = s.Start + rapid.Int64Range(0, length*3/2+1).Draw(t, "length")
}

func drawFacts(t *rapid.T, s *span.Span) {
	sometimes := func(key string, value func() any) {
		if rapid.IntRange(0, 4).Draw(t, key) == 0 {
			s.Attrs[key] = value()
		}
	}
	seconds := func() any { return float64(rapid.Int64Range(-1e8, 3e9).Draw(t, "s")) / 1e9 }
	if s.Kind == span.KindServer || s.Kind == span.KindConsumer {
		sometimes(budgetattr.BudgetReceivedKey, seconds)
		sometimes(budgetattr.MarginKey, seconds)
		sometimes(budgetattr.QueueTimeKey, seconds)
		sometimes(budgetattr.OutcomeKey, func() any {
			return rapid.SampledFrom([]string{"done", "cancelled", "degraded", "failed"}).Draw(t, "outcome")
		})
		sometimes(budgetattr.BudgetSourceKey, func() any { return rapid.SampledFrom([]string{"caller", "default", "regrant"}).Draw(t, "source") })
	} else {
		sometimes(budgetattr.RemainingBeforeKey, seconds)
		sometimes(budgetattr.RemainingAfterKey, seconds)
		sometimes(budgetattr.BackoffKey, seconds)
		sometimes(budgetattr.ReserveKey, seconds)
		sometimes(budgetattr.AttemptKey, func() any { return int64(rapid.IntRange(0, 3).Draw(t, "n")) })
	}
	sometimes(budgetattr.CancelCauseKey, func() any {
		return rapid.SampledFrom([]string{"local_deadline", "client_disconnect", "upstream_cancel", "upstream_deadline"}).Draw(t, "cause")
	})
	sometimes(budgetattr.CancelAfterKey, seconds)
	sometimes(budgetattr.PostCancelTimeKey, seconds)
	sometimes(budgetattr.CleanupTimeKey, seconds)
	if rapid.IntRange(0, 20).Draw(t, "linked") == 0 {
		s.Links = append(s.Links, span.Link{Trace: s.Trace, Span: s.Parent})
	}
}

func drawOptions(t *rapid.T) Options {
	var opts Options
	if rapid.Bool().Draw(t, "limits") {
		opts.Limits = map[Edge]time.Duration{{Peer: "b"}: time.Second}
	}
	return opts
}

// TestInvariantHolds: the parts of every account sum to the whole, in nanoseconds.
func TestInvariantHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkInvariant(t, Judge(drawTrace(t), drawOptions(t)))
	})
}

// TestOrderAndDuplicatesChangeNothing: the statement is the same to the byte.
func TestOrderAndDuplicatesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans, opts := drawTrace(t), drawOptions(t)
		want := encode(t, Judge(spans, opts))
		mixed := slices.Clone(spans)
		for range rapid.IntRange(0, 10).Draw(t, "duplicates") {
			mixed = append(mixed, spans[rapid.IntRange(0, len(spans)-1).Draw(t, "which")])
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if got := encode(t, Judge(mixed, opts)); got != want {
			t.Fatalf("order or duplicates changed the statement\n got %s\nwant %s", got, want)
		}
	})
}

func encode(t interface{ Fatal(...any) }, s *Statement) string {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestShiftedClockChangesNoFirmVerdict: a whole machine's clock moved by up to 5 minutes changes nothing of grade measured,
// same_clock or bound.
func TestShiftedClockChangesNoFirmVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans, opts := drawTrace(t), drawOptions(t)
		host := rapid.SampledFrom([]string{"a-1", "a-2", "b-1", "c-1"}).Draw(t, "shifted")
		by := rapid.Int64Range(-5*60e9, 5*60e9).Draw(t, "by")
		shifted := slices.Clone(spans)
		for i := range shifted {
			if shifted[i].Resource.String("service.instance.id") == host {
				shifted[i].Start += by
				shifted[i].End += by
			}
		}
		before, after := firm(Judge(spans, opts)), firm(Judge(shifted, opts))
		if before != after {
			t.Fatalf("a clock moved by %d ns changed firm verdicts\nbefore:\n%s\nafter:\n%s", by, before, after)
		}
	})
}

// firm lists what must not depend on how the clocks of two machines relate. In which line a total counts a figure may: it
// can be an estimate.
func firm(s *Statement) string {
	var lines []string
	for _, f := range s.Findings {
		if f.Evidence.Firm() {
			lines = append(lines, fmt.Sprintf("%s %s %d %s", f.Rule, f.SpanID, f.Amount, f.Evidence))
		}
	}
	for _, l := range s.Lines {
		if l.Evidence.Firm() {
			lines = append(lines, fmt.Sprintf("%s %s %d %s", l.Kind, l.SpanID, l.Amount, l.Evidence))
		}
	}
	slices.Sort(lines)
	margin := "no margin"
	if s.Margin != nil {
		margin = fmt.Sprint(int64(*s.Margin))
	}
	return fmt.Sprintf("%s %s %s %v\n%s", s.EntrySpanID, margin, s.Class, s.Late, strings.Join(lines, "\n"))
}

// TestAnnotationChangesNoVerdict: what the collector derives from one span and writes onto it is judged like the span
// itself, so a trace from storage and the same trace from a file have one verdict.
func TestAnnotationChangesNoVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans, opts := drawTrace(t), drawOptions(t)
		before := Judge(spans, opts)
		for i := range spans {
			JudgeSpan(&spans[i]).Annotate(&spans[i])
		}
		after := Judge(spans, opts)
		for _, s := range []*Statement{before, after} {
			for i := range s.Lines {
				s.Lines[i].Inferred = false
			}
		}
		if got, want := encode(t, after), encode(t, before); got != want {
			t.Fatalf("annotation changed the statement\n got %s\nwant %s", got, want)
		}
	})
}

// Statements of one case do not depend on those that were taken before.
func TestStatementsOfOneCase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans, opts := drawTrace(t), drawOptions(t)
		c := Open(spans, opts)
		entries := []span.ID{opts.Entry, {}}
		for i := range spans {
			entries = append(entries, spans[i].ID)
		}
		for _, entry := range append(entries, opts.Entry) {
			alone := opts
			alone.Entry = entry
			if got, want := encode(t, c.Statement(entry)), encode(t, Judge(spans, alone)); got != want {
				t.Fatalf("of entry %s:\n%s\nwant\n%s", entry, got, want)
			}
		}
	})
}

// FuzzJudge: whatever the ids, times and attributes, nothing panics and the account adds up.
func FuzzJudge(f *testing.F) {
	f.Add([]byte("\x01\x00\x02\x01\x02\x03"), int64(0), int64(1e9), 1.0, -1.0)
	f.Add([]byte("\x01\x01\x02\x02\x02\x01\x03\x02"), int64(-1), int64(1<<62), 1e300, 3e9)
	f.Fuzz(func(t *testing.T, shape []byte, start, end int64, received, other float64) {
		s := Judge(shapeTrace(shape, start, end, received, other), Options{})
		checkInvariant(t, s)
		encode(t, s)
	})
}

// shapeTrace turns two bytes into one span: its id and its parent's, and from their bits kind, service and facts.
func shapeTrace(shape []byte, start, end int64, received, other float64) []span.Span {
	spans := []span.Span{{ID: caseID(1)}}
	keys := budgetattr.All()
	for i := 0; i+1 < len(shape) && i < 400; i += 2 {
		a, b := shape[i], shape[i+1]
		s := span.Span{ID: caseID(int(a % 16)), Parent: caseID(int(b % 16)), Kind: span.Kind(a>>4) % 8,
			Service: string('a' + rune(b>>4)%4), Start: start, End: end, Attrs: span.Attributes{}, Status: span.Status(b>>6) % 3}
		switch b >> 5 {
		case 1:
			s.Start, s.End = end, start
		case 2:
			s.Start += int64(a) * 1e6
		case 3:
			s.End -= int64(b) * 1e6
		}
		key := keys[int(a^b)%len(keys)]
		switch key.Type {
		case budgetattr.Float:
			s.Attrs[key.Key] = other
		case budgetattr.Int:
			s.Attrs[key.Key] = int64(b)
		case budgetattr.Bool:
			s.Attrs[key.Key] = a%2 == 0
		default:
			s.Attrs[key.Key] = string([]rune{rune(a), rune(b)})
		}
		if a%3 == 0 {
			s.Attrs[budgetattr.BudgetReceivedKey] = received
		}
		if a%5 == 0 {
			s.Attrs[budgetattr.CancelCauseKey] = "local_deadline"
		}
		if a%7 == 0 {
			s.Events = append(s.Events, span.Event{Name: budgetattr.EventOpenChild, Time: end,
				Attrs: span.Attributes{budgetattr.OpenChildSpanIDKey: caseID(int(b % 20)).String(), budgetattr.OpenChildCauseKey: "shutdown"}})
		}
		spans = append(spans, s)
	}
	return spans
}

// TestLargeTraces: deep, wide and large traces are judged within seconds, in memory in proportion to their spans.
func TestLargeTraces(t *testing.T) {
	scale := 1
	if os.Getenv("LAXITY_SOAK") == "1" {
		scale = 4
	}
	for _, c := range []struct {
		name   string
		spans  int
		parent func(i int) int
	}{
		{"10000 deep", 10_000 * scale, func(i int) int { return i - 1 }},
		{"50000 wide", 50_000 * scale, func(int) int { return 0 }},
		{"200000 spans", 200_000 * scale, func(i int) int { return (i - 1) / 3 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() {
				c.spans /= 10
			}
			spans := largeTrace(c.spans, c.parent)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			s := Judge(spans, Options{})
			runtime.ReadMemStats(&after)
			if bytes := (after.TotalAlloc - before.TotalAlloc) / uint64(len(spans)); bytes > 12_000 {
				t.Errorf("allocated %d bytes a span", bytes)
			} else {
				t.Logf("allocated %d bytes a span", bytes)
			}
			if took := time.Since(begin); took > time.Duration(scale)*time.Minute {
				t.Errorf("took %s", took)
			} else {
				t.Logf("%d spans, %d lines, %d findings in %s", s.Spans, len(s.Lines), len(s.Findings), took)
			}
			checkInvariant(t, s)
		})
	}
}

func largeTrace(n int, parent func(int) int) []span.Span {
	kinds := [...]span.Kind{span.KindServer, span.KindClient, span.KindServer, span.KindInternal, span.KindClient}
	spans := make([]span.Span, n)
	for i := range spans {
		s := &spans[i]
		s.Trace, s.ID, s.Kind = span.TraceID{15: 1}, caseID(i+1), kinds[i%len(kinds)]
		s.Service, s.Name = string('a'+rune(i%7)), "op"
		s.Start, s.End = epoch+int64(i)*1000, epoch+int64(i)*1000+int64(1e9)+int64(i%13)*1e7
		s.Attrs = span.Attributes{}
		switch i % 6 {
		case 0:
			s.Attrs[budgetattr.BudgetReceivedKey] = 0.9
		case 1:
			s.Attrs[budgetattr.CancelCauseKey] = "local_deadline"
		}
		if i > 0 {
			s.Parent = caseID(parent(i) + 1)
		}
	}
	return spans
}

func BenchmarkJudgeSpan(b *testing.B) {
	s := span.Span{Kind: span.KindServer, Start: epoch, End: epoch + 3e8, Attrs: span.Attributes{"http.route": "/x", "http.response.status_code": int64(200),
		budgetattr.BudgetReceivedKey: 1.0}}
	b.ReportAllocs()
	for b.Loop() {
		JudgeSpan(&s)
	}
}

func BenchmarkJudge(b *testing.B) {
	spans := largeTrace(100, func(i int) int { return (i - 1) / 3 })
	b.ReportAllocs()
	for b.Loop() {
		Judge(spans, Options{})
	}
}
