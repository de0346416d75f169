package limit

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/tracefile/tracetest"
	"github.com/laxity-dev/laxity/internal/verdict"
)

func callsOf(t *testing.T, path string) []verdict.Call {
	t.Helper()
	file, err := tracefile.ReadFile(path, tracefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	spans := tracefile.Spans(file.Resources)
	for i := range spans {
		classify.Builtin().Annotate(&spans[i])
	}
	var calls []verdict.Call
	for _, group := range verdict.Group(spans) {
		calls = append(calls, verdict.Calls(group)...)
	}
	return calls
}

// In the recorded traces one limit is hidden, the second of GetAds in nezha-hipster. Nothing else is taken for one: not in any
// file, nor in all files of a folder together.
func TestLimitsOfCollection(t *testing.T) {
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	folders := map[string][]verdict.Call{}
	check := func(name string, calls []verdict.Call) {
		found := Find(calls)
		if !strings.HasPrefix(name, "nezha-hipster") {
			if len(found) > 0 {
				t.Errorf("%s: %+v", name, found)
			}
			return
		}
		if len(found) != 1 {
			t.Fatalf("%s: %+v, want one limit", name, found)
		}
		l := found[0]
		t.Logf("%s: %+v", name, l)
		edge := verdict.Edge{Caller: "frontend", Peer: "adservice", Operation: "hipstershop.AdService/GetAds"}
		if l.Edge != edge || l.At != time.Second || !l.Round || l.Calls != 36 || l.Cut != 30 || l.Beyond != 0 {
			t.Errorf("%s: %+v", name, l)
		}
		if l.Outlived != 23 || l.After.Round(time.Millisecond) != 34_343*time.Millisecond || l.Past != 29 || l.Estimate.Round(time.Millisecond) != 44_527*time.Millisecond {
			t.Errorf("%s: work after the cuts: %+v", name, l)
		}
	}
	for _, file := range tracetest.Files(t, dir) {
		calls := callsOf(t, filepath.Join(dir, file))
		check(file, calls)
		folder, _, _ := strings.Cut(file, "/")
		folders[folder] = append(folders[folder], calls...)
	}
	for folder, calls := range folders {
		check(folder, calls)
	}
}
