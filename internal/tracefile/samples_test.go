package tracefile

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/laxity-dev/laxity/internal/span"
)

// samples are the recorded traces of testdata, one of each format at least.
var samples = []struct {
	file                           string
	format                         string
	traces, spans, split, services int
}{
	{"oteldemo-sibling-errors/sibling_errors.json", "OTLP JSON", 1, 6, 0, 3},
	{"analyzer-sample-otlp/sample-trace.json", "OTLP JSON", 5, 19, 0, 8},
	{"otlp-proto-small/traces.jsonl", "OTLP JSON", 19, 19, 0, 8},
	{"otlp-proto-small/traces.pb", "OTLP protobuf", 19, 19, 0, 8},
	{"dsb-social-jaeger/traces-first3.json.gz", "Jaeger JSON, gzip", 3, 99, 0, 12},
	{"jaegerui-shapes/spanLongerAsParent.json", "Jaeger JSON", 1, 8, 0, 2},
	{"crisp-cases/15.json", "Jaeger JSON", 1, 7, 0, 7},
	{"zipkin-shapes/skew.json", "Zipkin v2 JSON", 1, 4, 0, 2},
	{"zipkin-shapes/yelp.json", "Zipkin v2 JSON", 1, 16, 0, 6},
	{"zipkin-messaging/messaging2.json", "Zipkin v2 JSON", 1, 11, 0, 4},
	{"trainticket-zipkin1/cancel-2.json", "Zipkin v1 JSON", 1, 23, 10, 5},
	{"agents-okahu/sample_trace.json", "OpenTelemetry SDK JSON", 1, 6, 0, 1},
	{"nezha-hipster/one-trace.csv", "CSV", 1, 48, 0, 6},
}

func readSample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "traces", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustRead(t testing.TB, content []byte) *File {
	t.Helper()
	file, err := ReadAll(bytes.NewReader(content), Options{})
	if err != nil {
		t.Fatalf("%v; refused: %v", err, file.Refusals)
	}
	return file
}

func TestSamples(t *testing.T) {
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			file := mustRead(t, readSample(t, s.file))
			services := map[string]bool{}
			spans := Spans(file.Resources)
			for i := range spans {
				services[spans[i].Service] = true
			}
			if file.FormatNames() != s.format || file.Traces != s.traces || file.Spans != s.spans || file.Split != s.split ||
				len(services) != s.services || file.Refused != 0 || len(spans) != file.Spans {
				t.Errorf("got %s, %d traces, %d spans (%d split, %d as values), %d services, refused %v; want %+v",
					file.FormatNames(), file.Traces, file.Spans, file.Split, len(spans), len(services), file.Refusals, s)
			}
		})
	}
}

// The same spans came in both spellings.
func TestProtobufAndJSONAreTheSame(t *testing.T) {
	a := mustRead(t, readSample(t, "otlp-proto-small/traces.pb"))
	b := mustRead(t, readSample(t, "otlp-proto-small/traces.jsonl"))
	byID := func(x, y span.Span) int { return bytes.Compare(x.ID[:], y.ID[:]) }
	as, bs := Spans(a.Resources), Spans(b.Resources)
	slices.SortFunc(as, byID)
	slices.SortFunc(bs, byID)
	if diff := cmp.Diff(as, bs); diff != "" {
		t.Error(diff)
	}
}

// Importing twice must change nothing: ids do not depend on the run, nor on packing, byte order mark or line ends.
func TestReadingIsRepeatable(t *testing.T) {
	for _, s := range samples {
		content := readSample(t, s.file)
		want := mustRead(t, content)
		variants := map[string][]byte{"again": content, "gzip": pack(t, content), "gzip twice": pack(t, pack(t, content))}
		if !strings.HasSuffix(s.file, ".gz") && !strings.HasSuffix(s.file, ".pb") {
			variants["byte order mark"] = append([]byte("\xef\xbb\xbf"), content...)
			variants["CRLF"] = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
			variants["blank lines"] = append([]byte("\n \n"), content...)
		}
		for name, variant := range variants {
			if name == "blank lines" && strings.HasSuffix(s.file, ".csv") {
				continue
			}
			got := mustRead(t, variant)
			if !proto.Equal(&tracepb.TracesData{ResourceSpans: want.Resources}, &tracepb.TracesData{ResourceSpans: got.Resources}) {
				t.Errorf("%s, %s: other spans", s.file, name)
			}
		}
	}
}

func pack(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A cut file keeps what came before the cut and says that it was cut.
func TestCutFiles(t *testing.T) {
	for _, s := range samples {
		content := readSample(t, s.file)
		most := 0
		for part := 1; part < 20; part++ {
			file, err := ReadAll(bytes.NewReader(content[:len(content)*part/20]), Options{})
			if err == nil && file.Refused == 0 && file.Spans == 0 {
				t.Errorf("%s cut at %d/20: neither spans nor a complaint", s.file, part)
			}
			checkBatches(t, file)
			most = max(most, file.Spans)
		}
		// One JSON object per trace cannot be had in part.
		whole := strings.HasPrefix(s.file, "jaegerui") || strings.HasPrefix(s.file, "crisp") || strings.HasPrefix(s.file, "oteldemo")
		if !whole && most == 0 {
			t.Errorf("%s: no cut left any span", s.file)
		}
	}
}

// checkBatches holds for whatever was read: it can be sent, and the counts are those of the batches.
func checkBatches(t testing.TB, file *File) {
	t.Helper()
	n := 0
	for _, rs := range file.Resources {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				n++
				if err := checkSpan(sp); err != nil {
					t.Fatalf("handed on a span that %v", err)
				}
			}
		}
	}
	if n != file.Spans {
		t.Fatalf("%d spans handed on, %d counted", n, file.Spans)
	}
	raw, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: file.Resources})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return
	}
	// What was read is OTLP: reading it again gives the same.
	again, err := ReadAll(bytes.NewReader(raw), Options{})
	if err != nil || again.Spans != n || again.Refused != 0 {
		t.Fatalf("as protobuf: %d of %d spans, refused %v, %v", again.Spans, n, again.Refusals, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range samples {
		f.Add(readSample(f, s.file))
	}
	for _, text := range made {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, _ := ReadAll(bytes.NewReader(content), Options{MaxRecord: 1 << 20})
		checkBatches(t, file)
		Spans(file.Resources)
	})
}
