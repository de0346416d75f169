package tracefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/span"
)

const (
	trace1 = "0af7651916cd43dd8448eb211c80319c"
	otlp1  = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7","name":"n","startTimeUnixNano":"10","endTimeUnixNano":"30"}]}]}]}`
	zipkin = `{"traceId":"1","id":"2","name":"z","timestamp":5,"duration":7,"localEndpoint":{"serviceName":"zs"}}`
)

// made holds one small text for each shape that the samples lack.
var made = map[string]string{
	"elasticsearch": `{"took":3,"hits":{"total":{"value":1},"hits":[{"_index":"jaeger-span","_source":{"traceID":"1f","spanID":"2a","flags":1,"operationName":"GET /","references":[],"startTime":1655753768526146,"startTimeMillis":1655753768526,"duration":1403,"tags":[{"key":"n","type":"int64","value":"9007199254740993"},{"key":"ratio","type":"float64","value":"1"},{"key":"b","type":"binary","value":"AAE="}],"tag":{"http@status_code":500,"span@kind":"server","error":true},"logs":[{"timestamp":1655753768526200,"fields":[{"key":"event","type":"string","value":"retry"},{"key":"n","type":"int64","value":1}]}],"process":{"serviceName":"front","tags":[{"key":"hostname","type":"string","value":"h1"}]}}}]}}`,
	"elasticdump":   `{"_index":"jaeger-span","_id":"x","_source":{"traceID":"1f","spanID":"2b","operationName":"op","startTime":1,"duration":2,"process":{"serviceName":"s"}}}`,
	"follows":       `{"data":[{"traceID":"1f","processes":{"p":{"serviceName":"s"}},"spans":[{"traceID":"1f","spanID":"1","operationName":"a","startTime":1,"duration":2,"processID":"p"},{"traceID":"1f","spanID":"2","operationName":"b","startTime":1,"duration":2,"processID":"p","references":[{"refType":"FOLLOWS_FROM","traceID":"1f","spanID":"1"}]},{"traceID":"1f","spanID":"3","operationName":"c","startTime":1,"duration":2,"processID":"p","references":[{"refType":"FOLLOWS_FROM","traceID":"1f","spanID":"1"},{"refType":"CHILD_OF","traceID":"1f","spanID":"2"},{"refType":"CHILD_OF","traceID":"ff","spanID":"9"}]}]}]}`,
	"format json":   `{"meta":[{"name":"Timestamp","type":"DateTime64(9)"}],"data":[{"Timestamp":"2025-06-20 21:37:08.604225123","TraceId":"0af7651916cd43dd8448eb211c80319c","SpanId":"00f067aa0ba902b7","ParentSpanId":"","SpanName":"q","SpanKind":"Server","ServiceName":"ch","ResourceAttributes":{"host":{"name":"h"}},"SpanAttributes":{"a.b":"1"},"Duration":"1500","StatusCode":"Error","StatusMessage":"boom","Events.Timestamp":["2025-06-20 21:37:08.604225124"],"Events.Name":["e"],"Events.Attributes":[{"k":"v"}],"Links.TraceId":["0af7651916cd43dd8448eb211c80319c"],"Links.SpanId":["00f067aa0ba902b8"],"Links.TraceState":[""],"Links.Attributes":[{}]}],"rows":1,"statistics":{"elapsed":0.1}}`,
	"json each row": `{"Timestamp":"1750455428.604225123","TraceId":"0af7651916cd43dd8448eb211c80319c","SpanId":"00f067aa0ba902b7","SpanName":"q","Duration":1500,"ServiceName":"ch"}` + "\n" + `{"Timestamp":"2025-06-20T21:37:08Z","TraceId":"0af7651916cd43dd8448eb211c80319c","SpanId":"00f067aa0ba902b8","SpanName":"q","Duration":1,"ServiceName":"ch"}`,
	"go":            `{"Name":"run","SpanContext":{"TraceID":"0af7651916cd43dd8448eb211c80319c","SpanID":"00f067aa0ba902b7","TraceFlags":"01","TraceState":"","Remote":false},"Parent":{"TraceID":"00000000000000000000000000000000","SpanID":"0000000000000000"},"SpanKind":2,"StartTime":"2025-01-02T03:04:05.000000006+01:00","EndTime":"2025-01-02T03:04:06.000000006+01:00","Attributes":[{"Key":"n","Value":{"Type":"INT64","Value":9007199254740993}},{"Key":"f","Value":{"Type":"FLOAT64","Value":2}},{"Key":"l","Value":{"Type":"STRINGSLICE","Value":["a","b"]}}],"Events":[{"Name":"e","Attributes":null,"DroppedAttributeCount":0,"Time":"2025-01-02T03:04:05.5+01:00"}],"Links":null,"Status":{"Code":"Error","Description":"boom"},"Resource":[{"Key":"service.name","Value":{"Type":"STRING","Value":"gosvc"}}],"InstrumentationScope":{"Name":"lib","Version":"v1","SchemaURL":""}}`,
	"javascript":    `{"resource":{"attributes":{"service.name":"js"}},"instrumentationScope":{"name":"lib"},"traceId":"0af7651916cd43dd8448eb211c80319c","parentSpanContext":{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b8"},"name":"GET","id":"00f067aa0ba902b7","kind":1,"timestamp":1735783445000001,"duration":12.5,"attributes":{"http.method":"GET"},"status":{"code":0},"events":[{"name":"e","time":[1735783445,5]}],"links":[]}`,
	"php":           `{"name":"p","context":{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"00f067aa0ba902b7","trace_state":""},"resource":{"service.name":"php"},"parent_span_id":"","kind":"KIND_SERVER","start":1735783445000000001,"end":1735783445000000005,"attributes":{"a":1},"status":{"code":"Error","description":"x"},"events":[],"links":[]}`,
	"java":          `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"java"}}]},"scopeSpans":[{"scope":{"name":"s"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7","name":"j","kind":2,"startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}`,
	"tempo v2":      `{"trace":` + otlp1 + `,"metrics":{}}`,
	"zipkin lists":  "[[" + zipkin + "],[" + zipkin + "]]",
	"values":        `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7","startTimeUnixNano":1609459200000000001,"endTimeUnixNano":1609459200150000003,"attributes":[{"key":"i","value":{"intValue":"9223372036854775807"}},{"key":"n","value":{"intValue":9007199254740993}},{"key":"d","value":{"doubleValue":1}},{"key":"b","value":{"boolValue":true}},{"key":"y","value":{"bytesValue":"AAE="}},{"key":"l","value":{"arrayValue":{"values":[{"intValue":1},{"stringValue":"x"}]}}},{"key":"m","value":{"kvlistValue":{"values":[{"key":"k","value":{"intValue":1}}]}}},{"key":"empty","value":{}}]}]}]}]}`,
}

func TestMadeShapes(t *testing.T) {
	for name, text := range made {
		file := mustRead(t, []byte(text))
		if file.Refused != 0 || file.Spans == 0 {
			t.Errorf("%s: %d spans, refused %v", name, file.Spans, file.Refusals)
		}
		checkBatches(t, file)
	}
}

func one(t *testing.T, text string) span.Span {
	t.Helper()
	file := mustRead(t, []byte(text))
	spans := Spans(file.Resources)
	if len(spans) != 1 || file.Refused != 0 {
		t.Fatalf("%d spans, refused %v", len(spans), file.Refusals)
	}
	return spans[0]
}

func ids(t *testing.T, trace, id string) (span.TraceID, span.ID) {
	t.Helper()
	traceID, ok1 := TraceID(trace)
	spanID, ok2 := SpanID(id)
	if !ok1 || !ok2 {
		t.Fatalf("ids %q %q", trace, id)
	}
	return traceID, spanID
}

func TestElasticsearchHit(t *testing.T) {
	got := one(t, made["elasticsearch"])
	trace, id := ids(t, "1f", "2a")
	want := span.Span{
		Trace: trace, ID: id, Service: "front", Name: "GET /", Kind: span.KindServer, Status: span.StatusError,
		Start: 1655753768526146000, End: 1655753768527549000,
		Attrs:    span.Attributes{"n": int64(9007199254740993), "ratio": 1.0, "b": "AAE=", "http.status_code": int64(500), "error": true},
		Resource: span.Attributes{"service.name": "front", "host.name": "h1"},
		Events:   []span.Event{{Name: "retry", Time: 1655753768526200000, Attrs: span.Attributes{"n": int64(1)}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestClickHouseRow(t *testing.T) {
	got := one(t, made["format json"])
	trace, id := ids(t, trace1, "00f067aa0ba902b7")
	want := span.Span{
		Trace: trace, ID: id, Service: "ch", Name: "q", Kind: span.KindServer, Status: span.StatusError, StatusMessage: "boom",
		Start: 1750455428604225123, End: 1750455428604226623, Attrs: span.Attributes{"a.b": "1"},
		Resource: span.Attributes{"service.name": "ch", "host.name": "h"},
		Events:   []span.Event{{Name: "e", Time: 1750455428604225124, Attrs: span.Attributes{"k": "v"}}},
		Links:    []span.Link{{Trace: trace, Span: span.ID{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb8}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSDKSpans(t *testing.T) {
	trace, id := ids(t, trace1, "00f067aa0ba902b7")
	_, parent := ids(t, trace1, "00f067aa0ba902b8")
	for name, want := range map[string]span.Span{
		"go": {Trace: trace, ID: id, Service: "gosvc", Name: "run", Scope: "lib", Kind: span.KindServer, Status: span.StatusError,
			StatusMessage: "boom", Start: 1735783445000000006, End: 1735783446000000006,
			Attrs:    span.Attributes{"n": int64(9007199254740993), "f": 2.0, "l": []any{"a", "b"}},
			Resource: span.Attributes{"service.name": "gosvc"}, Events: []span.Event{{Name: "e", Time: 1735783445500000000}}},
		"javascript": {Trace: trace, ID: id, Parent: parent, Service: "js", Name: "GET", Scope: "lib", Kind: span.KindServer,
			Start: 1735783445000001000, End: 1735783445000013500, Attrs: span.Attributes{"http.method": "GET"},
			Resource: span.Attributes{"service.name": "js"}, Events: []span.Event{{Name: "e", Time: 1735783445000000005}}},
		"php": {Trace: trace, ID: id, Service: "php", Name: "p", Kind: span.KindServer, Status: span.StatusError, StatusMessage: "x",
			Start: 1735783445000000001, End: 1735783445000000005, Attrs: span.Attributes{"a": int64(1)},
			Resource: span.Attributes{"service.name": "php"}},
	} {
		if diff := cmp.Diff(want, one(t, made[name])); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestValuesKeepEveryDigit(t *testing.T) {
	got := one(t, made["values"])
	want := span.Attributes{"i": int64(9223372036854775807), "n": int64(9007199254740993), "d": 1.0, "b": true, "y": "AAE=",
		"l": []any{int64(1), "x"}, "m": `{"k":1}`, "empty": ""}
	if diff := cmp.Diff(want, got.Attrs); diff != "" {
		t.Error(diff)
	}
	if got.Start != 1609459200000000001 || got.End != 1609459200150000003 {
		t.Errorf("times %d %d", got.Start, got.End)
	}
}

func TestFollowsFrom(t *testing.T) {
	spans := Spans(mustRead(t, []byte(made["follows"])).Resources)
	trace, first := ids(t, "1f", "1")
	_, second := ids(t, "1f", "2")
	follows := span.Link{Trace: trace, Span: first, Attrs: span.Attributes{"opentracing.ref_type": "follows_from"}}
	if spans[1].Parent != first || !cmp.Equal(spans[1].Links, []span.Link{follows}) {
		t.Errorf("a span that follows: parent %s, links %v", spans[1].Parent, spans[1].Links)
	}
	if spans[2].Parent != second || len(spans[2].Links) != 2 || !cmp.Equal(spans[2].Links[0], follows) {
		t.Errorf("a child that follows another: parent %s, links %v", spans[2].Parent, spans[2].Links)
	}
}

func TestIDs(t *testing.T) {
	for _, c := range []struct{ text, want, original string }{
		{"0AF7651916CD43DD", "0af7651916cd43dd", ""}, {"0x6bb2ce8f6deb93e6", "6bb2ce8f6deb93e6", ""},
		{"4b52eb0cabcb50a", "04b52eb0cabcb50a", ""}, {"A", "000000000000000a", ""}, {"Wmn8F4uo+Dc=", "5a69fc178ba8f837", ""},
		{"", "", ""}, {"0", "", ""}, {"0000000000000000", "", ""}, {"0x0", "", ""}, {"AAAAAAAAAAA=", "", ""},
	} {
		id, original := spanID(c.text)
		if fmt.Sprintf("%x", id) != c.want || original != c.original {
			t.Errorf("%q: %x (%q), want %s", c.text, id, original, c.want)
		}
	}
	for _, text := range []string{"parent_span", "G", "ffffffffffffffff0", "root"} {
		id, original := spanID(text)
		again, _ := spanID(text)
		if len(id) != 8 || original != text || !bytes.Equal(id, again) {
			t.Errorf("%q: %x, original %q", text, id, original)
		}
	}
	got := one(t, strings.Replace(otlp1, "00f067aa0ba902b7", "child_1", 1))
	if got.Attrs.String(OriginalSpanIDKey) != "child_1" {
		t.Errorf("original id not kept: %v", got.Attrs)
	}
}

// The serving half gets an id of its own, always the same one, and the children of its service.
func TestHalves(t *testing.T) {
	spans := Spans(mustRead(t, readSample(t, "zipkin-shapes/skew.json")).Resources)
	byName := map[string]span.Span{}
	for _, sp := range spans {
		byName[sp.Name+" "+sp.Kind.String()] = sp
	}
	client, server, child := byName["post Client"], byName["post Server"], byName["async Unspecified"]
	if client.ID.String() != "74280ae0c10d8062" || server.Parent != client.ID || child.Parent != server.ID ||
		server.Attrs.String(OriginalSpanIDKey) != "74280ae0c10d8062" {
		t.Errorf("client %s, server %s below %s, child below %s", client.ID, server.ID, server.Parent, child.Parent)
	}
	if server.ID.String() != "c197d0a1db5f799f" {
		t.Errorf("the id of the serving half changed to %s: spans imported before would double", server.ID)
	}
}

func TestRefusals(t *testing.T) {
	broken := strings.Replace(otlp1, `"name":"n"`, `"name":"n`, 1)
	for name, c := range map[string]struct {
		text    string
		spans   int
		other   int
		refused []string
	}{
		"lines": {otlp1 + "\n" + broken + "\n{\"resourceSpans\":[{\"a\n\nnot json\n" + otlp1 + "\n[1]\n" + otlp1, 3, 0, []string{
			"line 2, resourceSpans[0], byte 280: the line ends inside a text",
			"line 3, resourceSpans[0], byte 541: the line ends inside a text",
			"line 7, [0], byte 818: not an object"}},
		"cut line swallows the next": {`{"resourceSpans":[` + "\n" + otlp1 + "\n" + otlp1, 2, 0, []string{"line 1, resourceSpans, byte 17: the file ends in the middle"}},
		"cut line inside a span": {otlp1[:150] + "\n" + otlp1 + "\n" + otlp1, 2, 0, []string{
			"line 1, resourceSpans[0], byte 18: the line ends inside a text"}},
		"cut line after a comma": {otlp1[:110] + ",\n" + otlp1 + "\n" + otlp1, 2, 0, []string{
			"line 1, resourceSpans[0], byte 18: invalid JSON: a new record begins inside of this one"}},
		"a list of halves of objects": {"{\"batches\":[\n\"resource\": {}\n}]}\n" + otlp1, 1, 0, []string{
			"line 2, batches[0], byte 13: not an object",
			"line 2, batches[0], byte 23: invalid JSON at byte 1 of the record: invalid character ':' looking for beginning of value",
			"line 2, batches[0], byte 25: no resource spans; its keys: none",
			"line 3, batches[0], byte 28: invalid JSON: '}' where a value is due"}},
		"spans in a log": {"INFO: starting, on port 1, with tracing, on\n" + otlp1 + "\nbye\n\"x\"}]\n", 1, 0, []string{
			"line 4, byte 310: the line is not JSON"}},
		"mixed signals": {`{"resourceLogs":[{}]}` + "\n" + otlp1 + "\n" + `{"resourceMetrics":[{}]}` + "\n" + zipkin, 2, 2, nil},
		"one bad span": {strings.Replace(otlp1, `"spans":[`, `"spans":[7,{"traceId":"1","spanId":"1"},{"spanId":"1","startTimeUnixNano":"1"},{"traceId":"1","spanId":"2","startTimeUnixNano":"9","endTimeUnixNano":"8"},`, 1), 1, 0, []string{
			"line 1, resourceSpans[0].scopeSpans[0].spans[0], byte 18: not an object",
			"line 1, resourceSpans[0].scopeSpans[0].spans[1], byte 18: no start time",
			"line 1, resourceSpans[0].scopeSpans[0].spans[2], byte 18: no trace id",
			"line 1, resourceSpans[0].scopeSpans[0].spans[3], byte 18: ends 1ns before it starts"}},
		"before 1970 and after 2261": {"[" + strings.Replace(zipkin, ":5,", ":-86400000000,", 1) + "," + strings.Replace(zipkin, ":5,", ":10382256000000000,", 1) + "," +
			strings.Replace(zipkin, ":5,", ":1e300,", 1) + "," + zipkin + "]", 1, 0, []string{
			"line 1, [0], byte 1: timestamp: time -86400000000 lies before 1970",
			"line 1, [2], byte 228: timestamp: \"1e300\" is not a number of time",
			"line 1, [1], byte 112: starts in 2299, later than 2261"}},
		"search result": {`{"traces":[{"traceID":"1","rootServiceName":"s"}]}` + "\n" + otlp1, 1, 0, []string{
			"line 1, traces[0], byte 11: no span of a known format; its keys: rootServiceName, traceID"}},
		"csv": {"TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration\r\n1,2,root,pod,op,1,2,0\r\n1,2\r\n1,3,root,po\"d,op,1,2,0\r\n1,4,root,pod,op,x,2,0\r\n1,5,2,pod,op,1,2,0\r\n", 2, 0, []string{
			"line 3, byte 113: 2 fields, the header has 8", "line 4, byte 118: bare \" in non-quoted-field",
			"line 5, byte 142: StartTimeUnixNano: \"x\" is not a number of time"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := mustRead(t, []byte(c.text))
			var refused []string
			for _, r := range file.Refusals {
				refused = append(refused, r.String())
			}
			if diff := cmp.Diff(c.refused, refused); diff != "" || file.Spans != c.spans || file.Other != c.other {
				t.Errorf("%d spans, %d others; refused %s", file.Spans, file.Other, diff)
			}
		})
	}
}

func TestNotTraces(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "it is empty"},
		"white space":  {" \n\n", "it is empty"},
		"other JSON":   {`{"name":"x","version":1}`, "its keys: name, version"},
		"prose":        {"Hello, this is no trace.\n", "not JSON"},
		"not gzip":     {"\x1f\x8b\x08\xff\xff", "starts like gzip"},
		"zstd":         {"\x28\xb5\x2f\xfd....", "zstd -d"},
		"UTF-16":       {"\xff\xfe{\x00", "UTF-16"},
		"binary":       {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not an OTLP message"},
		"csv of other": {"a,b,c,d\n1,2,3,4\n", "--csv-map"},
		"nested":       {strings.Repeat("[", 200000), "ends in the middle"},
		"nested twice": {strings.Repeat(`{"result":`, 200000), "ends in the middle"},
	} {
		file, err := ReadAll(strings.NewReader(c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || file.Spans != 0 {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestDamagedGzip(t *testing.T) {
	var lines bytes.Buffer
	for i := range 2000 {
		fmt.Fprintln(&lines, strings.Replace(otlp1, "00f067aa0ba902b7", fmt.Sprintf("%x", i*i*i+1), 1))
	}
	packed := pack(t, lines.Bytes())
	cut := mustRead(t, packed[:len(packed)/2])
	if cut.Spans < 100 || !strings.Contains(fmt.Sprint(cut.Refusals), "compressed data are damaged or cut") {
		t.Errorf("cut: %d spans, %v", cut.Spans, cut.Refusals)
	}
	packed[len(packed)-5] ^= 0xff // the checksum
	damaged := mustRead(t, packed)
	if damaged.Spans != 2000 || !strings.Contains(fmt.Sprint(damaged.Refusals), gzip.ErrChecksum.Error()) {
		t.Errorf("damaged: %d spans, %v", damaged.Spans, damaged.Refusals)
	}
}

func TestDamagedProtobuf(t *testing.T) {
	content := readSample(t, "otlp-proto-small/traces.pb")
	whole := mustRead(t, content)
	for i := 0; i < len(content); i += 7 {
		damaged := bytes.Clone(content)
		damaged[i] ^= 0x55
		file, err := ReadAll(bytes.NewReader(damaged), Options{})
		if err == nil {
			checkBatches(t, file)
		}
		if file.Spans < whole.Spans && file.Refused == 0 && err == nil {
			// A flipped bit may turn a field into an unknown one, which protobuf passes over in silence; never many.
			if file.Spans < whole.Spans-1 {
				t.Errorf("byte %d: %d of %d spans and no complaint", i, file.Spans, whole.Spans)
			}
		}
	}
	frame := append([]byte{0, 0, byte(len(content) >> 8), byte(len(content))}, content...)
	framed := mustRead(t, append(bytes.Clone(frame), frame...))
	if framed.Spans != 2*whole.Spans || framed.Refused != 0 {
		t.Errorf("two framed messages: %d spans, %v", framed.Spans, framed.Refusals)
	}
}

func TestColumnMap(t *testing.T) {
	columns, err := ParseColumns("trace=t,span=s,parent=p,service=app,name=op,start=begin:us,duration=took:ms,status=st")
	if err != nil {
		t.Fatal(err)
	}
	text := "begin;t;s;p;app;op;took;st;region\n1500000000000001.5;tr-1;s-1;null;web;GET /;0.25;ERROR;eu\n"
	file, err := ReadAll(strings.NewReader(text), Options{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	trace, id := ids(t, "tr-1", "s-1")
	want := []span.Span{{Trace: trace, ID: id, Service: "web", Name: "GET /", Status: span.StatusError,
		Start: 1500000000000001500, End: 1500000000000251500,
		Attrs:    span.Attributes{OriginalTraceIDKey: "tr-1", OriginalSpanIDKey: "s-1", "region": "eu"},
		Resource: span.Attributes{"service.name": "web"}}}
	if diff := cmp.Diff(want, Spans(file.Resources)); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"trace=t,span=s":                     "trace, span and start are needed",
		"trace=t,span=s,start=b,duration=d":  "unit",
		"trace=t,span=s,start=b:years":       "not one of ns, us, ms, s",
		"trace=t,span=s,start=b,colour=blue": "unknown key",
		"trace":                              "KEY=COLUMN",
	} {
		if _, err := ParseColumns(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestPodNames(t *testing.T) {
	for pod, want := range map[string]string{
		"adservice-5f6585d649-fnmft": "adservice", "ts-order-other-service-6dbd9b5b9c-z8bzx": "ts-order-other-service",
		"mysql-0": "mysql-0", "front-end": "front-end",
	} {
		c := csvReader{columns: Columns{Pod: true}}
		if got := valueText(c.resource(pod)[0].Value); got != want {
			t.Errorf("%s: service %s, want %s", pod, got, want)
		}
	}
}

// Memory must not grow with the file: spans come out long before the rest of the file is there to be read.
func TestStreaming(t *testing.T) {
	record := otlp1[len(`{"resourceSpans":[`) : len(otlp1)-2]
	for name, c := range map[string]struct{ head, record string }{
		"one object": {`{"resourceSpans":[`, record + ","},
		"lines":      {"", otlp1 + "\n"},
		"rows":       {"[", made["json each row"][:strings.Index(made["json each row"], "\n")] + ","},
	} {
		in, out := io.Pipe()
		arrived := make(chan struct{})
		writing := make(chan error, 1)
		go func() {
			_, err := io.WriteString(out, c.head+strings.Repeat(c.record, 2*batchSpans))
			if err == nil {
				<-arrived // the rest is written once the first spans have come out
				_, err = io.WriteString(out, c.record)
			}
			writing <- errors.Join(err, out.Close())
		}()
		spans := 0
		_, err := Read(in, Options{}, func(batch []*tracepb.ResourceSpans) error {
			if spans == 0 {
				close(arrived)
			}
			for _, rs := range batch {
				spans += len(rs.ScopeSpans[0].Spans)
			}
			return nil
		})
		if err := errors.Join(err, <-writing); err != nil || spans != 2*batchSpans+1 {
			t.Errorf("%s: %d spans, %v", name, spans, err)
		}
	}
}

func TestLargeRecordIsRefused(t *testing.T) {
	large := strings.Replace(otlp1, `"name":"n"`, `"name":"`+strings.Repeat("x", 2<<20)+`"`, 1)
	file, err := ReadAll(strings.NewReader(otlp1+"\n"+large+"\n"+otlp1), Options{MaxRecord: 1 << 20})
	if err != nil || file.Spans != 2 || file.Refused != 1 || !strings.Contains(file.Refusals[0].Reason, "more than 1 MiB") {
		t.Errorf("%d spans, %v, %v", file.Spans, file.Refusals, err)
	}
}

func TestEmitErrorEndsReading(t *testing.T) {
	stop := errors.New("stop")
	_, err := Read(strings.NewReader(strings.Repeat(otlp1+"\n", 5000)), Options{}, func([]*tracepb.ResourceSpans) error { return stop })
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}
