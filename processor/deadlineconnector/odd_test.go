package deadlineconnector

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// TestIssueOddTracesInAnyOrder: small traces whose spans are their own parents, go round, come twice, end before they start, or
// have no ids, never panic, and never count more orphan time than the spans lasted.
func TestIssueOddTracesInAnyOrder(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Skeletons.MemoryMiB, c.MaxSeries, c.DedupSpans = 1, 50, 64 })
	random := rand.New(rand.NewPCG(7, 9))
	causes := []string{"", "local_deadline", "client_disconnect", "nonsense", "upstream_cancel"}
	seconds := 0.0
	stop := time.Now().Add(2 * time.Second)
	for round := uint64(0); round < 20_000 && time.Now().Before(stop); round++ {
		td := ptrace.NewTraces()
		for range 1 + random.IntN(6) {
			attrs := map[string]any{}
			if c := causes[random.IntN(len(causes))]; c != "" {
				attrs[budgetattr.CancelCauseKey] = c
			}
			if random.IntN(3) == 0 {
				attrs[budgetattr.PostCancelTimeKey] = random.Float64() * 2
			}
			if random.IntN(3) == 0 {
				attrs[budgetattr.CancelAfterKey] = random.Float64()*2 - .5
			}
			if random.IntN(4) == 0 {
				attrs[budgetattr.BudgetReceivedKey] = random.Float64()
			}
			length := random.Float64()*3 - .2
			s := r.add(td, string(rune('a'+random.IntN(3))), ptrace.SpanKind(random.IntN(6)), random.Float64(), 1, attrs)
			if length > 0 {
				seconds += length
			}
			s.SetEndTimestamp(pcommon.Timestamp(int64(s.StartTimestamp()) + int64(length*1e9)))
			var trace pcommon.TraceID
			binary.BigEndian.PutUint64(trace[:], round/3)
			s.SetTraceID(trace)
			s.SetSpanID(pcommon.SpanID{byte(random.IntN(5))})
			s.SetParentSpanID(pcommon.SpanID{byte(random.IntN(5))})
			if random.IntN(5) == 0 {
				e := s.Events().AppendEmpty()
				e.SetName(budgetattr.EventOpenChild)
				e.Attributes().PutStr(budgetattr.OpenChildSpanIDKey, "0"+string(rune('0'+random.IntN(5)))+"00000000000000")
			}
		}
		r.send(td)
		if random.IntN(3) == 0 {
			r.send(td)
		}
		if random.IntN(500) == 0 {
			r.flush()
		}
	}
	for name, s := range r.flush() {
		if s.number < 0 {
			t.Errorf("%s is %g", name, s.number)
		}
	}
	if got := r.flush().total("deadline.orphan.early"); got > seconds*2 {
		t.Errorf("%g s of orphan work of %g s of spans", got, seconds)
	}
}
