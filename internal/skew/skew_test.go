package skew

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/tracefile/tracetest"
	"github.com/laxity-dev/laxity/internal/verdict"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// calls makes n calls over an hour from one machine to another whose clock is ahead by offset and drifts.
func calls(random *rand.Rand, n int, offset time.Duration, drift float64) []verdict.Call {
	made := make([]verdict.Call, n)
	for i := range made {
		after := time.Duration(float64(time.Hour) * float64(i) / float64(n))
		there, back := time.Duration(100+random.IntN(3000))*time.Microsecond, time.Duration(100+random.IntN(3000))*time.Microsecond
		work := time.Duration(random.ExpFloat64() * float64(20*time.Millisecond))
		at := start.Add(after).UnixNano()
		made[i] = verdict.Call{
			Start: at, Length: int64(there + work + back), HasCallee: true, CalleeLength: int64(work),
			CalleeStart: at + int64(there+offset) + int64(drift*float64(after)), Caller: "host a", Callee: "host b",
		}
	}
	return made
}

// The offset of two clocks lies between the bounds learned, however far apart they are and while they drift; of clocks that
// agree nothing is learned.
func TestOffsetsAreFound(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 9))
		for _, offset := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute, 90 * time.Second, -90 * time.Second, 20 * time.Millisecond} {
			for _, drift := range []float64{0, 30e-6, -100e-6} {
				table := Learn(calls(random, 600, offset, drift), nil)
				if offset == 0 && drift == 0 {
					if found := table.Offsets(); len(found) != 0 {
						t.Fatalf("seed %d: clocks that agree: %+v", seed, found)
					}
					continue
				}
				for at := time.Duration(0); at < time.Hour; at += 7 * time.Minute {
					truth := offset + time.Duration(drift*float64(at))
					low, high, n, ok := table.Between("host a", "host b", start.Add(at).UnixNano())
					slack := time.Duration(200e-6 * float64(Width))
					if !ok && truth.Abs() > 50*time.Millisecond+slack {
						t.Fatalf("seed %d, offset %s, drift %g, after %s: nothing", seed, offset, drift, at)
					}
					if ok && (truth < low-slack || truth > high+slack || high-low > 10*time.Millisecond+2*slack || n < 50) {
						t.Fatalf("seed %d, offset %s, drift %g, after %s: %s to %s from %d", seed, offset, drift, at, low, high, n)
					}
					backLow, backHigh, _, backOK := table.Between("host b", "host a", start.Add(at).UnixNano())
					if backOK != ok || ok && (backLow != -high || backHigh != -low) {
						t.Fatalf("the other direction: %s to %s", backLow, backHigh)
					}
				}
			}
		}
	}
}

// A few calls that lie, such as work that began late, change nothing; two clocks behind one name are no offset.
func TestContradictionsTellNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	mixed := calls(random, 600, 90*time.Second, 0)
	for i := range mixed {
		if i%20 == 0 {
			mixed[i].CalleeStart += int64(time.Second)
		}
	}
	low, high, _, ok := Learn(mixed, nil).Between("host a", "host b", start.UnixNano())
	if !ok || low > 90*time.Second || high < 90*time.Second {
		t.Errorf("with some that lie: %s to %s, %t", low, high, ok)
	}
	two := append(calls(random, 300, 90*time.Second, 0), calls(random, 300, -90*time.Second, 0)...)
	if found := Learn(two, nil).Offsets(); len(found) != 0 {
		t.Errorf("two clocks behind one name: %+v", found)
	}
}

// Calls that were cut are no evidence: their callees begin and end when they like.
func TestCutCallsTellNothing(t *testing.T) {
	edge := verdict.Edge{Caller: "a", Peer: "b"}
	cut := calls(rand.New(rand.NewPCG(5, 6)), 100, time.Second, 0)
	for i := range cut {
		cut[i].Edge = edge
	}
	if found := Learn(cut, map[verdict.Edge]verdict.HiddenLimit{edge: {}}).Offsets(); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// With the clock of the callee five minutes ahead, a trace whose only call was cut shows no more work for nobody than there
// was, once other traces have told the offset.
func TestVerdictsUseOffsets(t *testing.T) {
	for _, offset := range []time.Duration{5 * time.Minute, -90 * time.Second} {
		made := func(id byte, name, service string, kind span.Kind, from, to time.Duration, skewed time.Duration) span.Span {
			s := span.Span{Trace: span.TraceID{1}, ID: span.ID{id}, Service: service, Name: name, Kind: kind,
				Start: start.Add(from + skewed).UnixNano(), End: start.Add(to + skewed).UnixNano(),
				Attrs: span.Attributes{}, Resource: span.Attributes{"host.name": service[:1]}}
			if id > 1 {
				s.Parent = span.ID{id - 1}
			}
			return s
		}
		call := made(2, "get", "a", span.KindClient, 0, 100*time.Millisecond, 0)
		call.Attrs["deadline.cancel.cause"] = "local_deadline"
		spans := []span.Span{made(1, "GET /", "a", span.KindServer, 0, 110*time.Millisecond, 0), call,
			made(3, "get", "b", span.KindServer, 60*time.Millisecond, 150*time.Millisecond, offset)}
		table := Learn(calls(rand.New(rand.NewPCG(3, 4)), 600, offset, 0), nil)
		s := verdict.Judge(spans, verdict.Options{Offsets: table})
		if got := s.Orphan.Duration(); got < 45*time.Millisecond || got > 55*time.Millisecond {
			t.Errorf("clock off by %s: %s of orphan work, want about 50 ms", offset, got)
		}
		if len(s.Findings) == 0 || !strings.Contains(s.Findings[len(s.Findings)-1].Text+s.Findings[0].Text, "calls around that time") {
			t.Errorf("clock off by %s: the evidence is not told: %+v", offset, s.Findings)
		}
		without := verdict.Judge(spans, verdict.Options{})
		if without.Orphan == s.Orphan {
			t.Errorf("clock off by %s makes no difference", offset)
		}
	}
}

// In the recorded traces no pair has an offset beyond a millisecond: the skew in tw-hotel is below, elsewhere single children are
// early or late.
func TestOffsetsOfCollection(t *testing.T) {
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	folders := map[string][]verdict.Call{}
	for _, file := range tracetest.Files(t, dir) {
		read, err := tracefile.ReadFile(filepath.Join(dir, file), tracefile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		folder, _, _ := strings.Cut(file, "/")
		for _, group := range verdict.Group(tracefile.Spans(read.Resources)) {
			folders[folder] = append(folders[folder], verdict.Calls(group)...)
		}
	}
	for folder, calls := range folders {
		if found := Learn(calls, nil).Offsets(); len(found) != 0 {
			t.Errorf("%s: %+v", folder, found)
		}
	}
}
