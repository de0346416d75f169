package tracefile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func refusals(s *Summary) []string {
	var all []string
	for _, r := range s.Refusals {
		all = append(all, r.String())
	}
	return all
}

// TestIssueBrokenPartCostsNoMore: what is broken inside a record of many spans costs that part, not the record.
func TestIssueBrokenPartCostsNoMore(t *testing.T) {
	span2 := `{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b8","name":"ok","startTimeUnixNano":"10","endTimeUnixNano":"20"}`
	two := strings.Replace(otlp1, `"spans":[`, `"spans":[`+span2+`,`, 1)
	jaeger := `{"traceID":"1f","processes":{"p":{"serviceName":"s"}},"spans":[{"traceID":"1f","spanID":"1","operationName":"a","startTime":1,"duration":2,"processID":"p"},{"traceID":"1f","spanID":"2","operationName":"b","startTime":1,"duration":,"processID":"p"},{"traceID":"1f","spanID":"3","startTime":x}]}`
	for name, c := range map[string]struct {
		text    string
		spans   int
		refused []string
		at      string // what the first refusal points at
	}{
		"a value that is none": {strings.Replace(two, `"name":"n"`, `"name":"n","attributes":[{"key":"a","value":{"intValue":0x1}},{"key":"b","value":{"intValue":"2"}}]`, 1), 2, []string{
			"line 1, resourceSpans[0].scopeSpans[0].spans[1].attributes[0].value.intValue, byte 387: invalid JSON after byte 1 of the record"}, "0x1}}"},
		"a span that is none": {strings.Replace(two, `"spans":[`, `"spans":[{"traceId":"1",spanId:"2"},`, 1), 2, []string{
			"line 1, resourceSpans[0].scopeSpans[0].spans[0], byte 122: invalid JSON: a key that is not a text",
			"line 1, resourceSpans[0].scopeSpans[0].spans[0], byte 18: no start time"}, `{"traceId":"1",`},
		"a tab in a text": {strings.Replace(two, `"name":"n"`, "\"name\":\"n\tm\"", 1), 2, nil, ""},
		"a bare trace of Jaeger": {jaeger, 2, []string{
			"line 1, spans[1].duration, byte 230: invalid JSON: ',' where a value is due",
			"line 1, spans[2].startTime, byte 289: invalid JSON at byte 1 of the record: invalid character 'x' looking for beginning of value",
			"line 1, spans[2], byte 0: no start time"}, `,"processID":"p"}`},
		"nested too deep": {strings.Replace(two, `"name":"n"`, `"attributes":[{"key":"a","value":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`}]`, 1), 2, []string{
			"line 1, resourceSpans[0].scopeSpans[0].spans[1].attributes[0].value[0][0][0][0][0], byte 369: invalid JSON at byte 10001 of the record: invalid character '[' exceeded max depth"}, "[[["},
	} {
		t.Run(name, func(t *testing.T) {
			file := mustRead(t, []byte(c.text))
			got := refusals(&file.Summary)
			if diff := cmp.Diff(c.refused, got); diff != "" || file.Spans != c.spans {
				t.Errorf("%d spans; refused %s", file.Spans, diff)
			}
			if len(file.Refusals) > 0 && !strings.HasPrefix(c.text[file.Refusals[0].Offset:], c.at) {
				t.Errorf("the first refusal points at %.20s", c.text[file.Refusals[0].Offset:])
			}
		})
	}
}

// TestIssueNaN: Python and JavaScript write numbers that JSON does not have; they cost nothing.
func TestIssueNaN(t *testing.T) {
	text := strings.Replace(otlp1, `"name":"n"`, `"name":"n","attributes":[{"key":"a","value":{"doubleValue":NaN}},{"key":"b","value":{"doubleValue":-Infinity}},{"key":"c","value":{"intValue":"3"}}]`, 1)
	got := one(t, text)
	if c, _ := got.Attrs.Int("c"); c != 3 || got.Name != "n" {
		t.Errorf("got %+v", got)
	}
	if _, ok := got.Attrs.Float("a"); ok || !got.Attrs.Has("a") {
		t.Errorf("a is %v", got.Attrs["a"])
	}
}

// TestIssueSalvageIsBounded: a large record that is broken everywhere takes no more than a few readings of it.
func TestIssueSalvageIsBounded(t *testing.T) {
	began := time.Now()
	attrs := strings.Repeat(`{"key":"a","value":{"intValue":x}},`, 20000)
	file := mustRead(t, []byte(strings.Replace(otlp1, `"name":"n"`, `"name":"n","attributes":[`+attrs+`{}]`, 1)))
	if file.Spans != 1 || file.Refused != 20000 || len(file.Refusals) != maxRefusals {
		t.Errorf("%d spans, %d refused, %d told", file.Spans, file.Refused, len(file.Refusals))
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// TestIssueOpenQuoteCostsItsLine: a quotation mark that is not closed takes no other rows with it.
func TestIssueOpenQuoteCostsItsLine(t *testing.T) {
	const header = "trace,span,name,start,end\n"
	for name, c := range map[string]struct {
		text    string
		names   string
		refused []string
	}{
		"never closed":      {header + "1,1,a,1,2\n1,2,\"b,1,2\n1,3,c,1,2\n1,4,d,1,2", "a|c|d", []string{`line 3, byte 36: extraneous or missing " in quoted-field`}},
		"closed by another": {header + "1,1,\"a,1,2\r\n\r\n1,2,b,1,2\r\n1,3,\"c,1,2\r\n1,4,d,1,2\r\n", "b|d", []string{`line 2, byte 26: extraneous or missing " in quoted-field`, `line 5, byte 51: extraneous or missing " in quoted-field`}},
		"a row of too few":  {header + "1,1,\"a\n1,2,b,1,2\n1,3,c\",1\n1,4,d,1,2\n", "b|d", []string{`line 2, byte 26: extraneous or missing " in quoted-field`, `line 4, byte 43: bare " in non-quoted-field`}},
		"over two lines":    {header + "1,1,\"a \"\"x\"\"\nb\",1,2\n1,2,c,1,2\n", "a \"x\"\nb|c", nil},
	} {
		t.Run(name, func(t *testing.T) {
			file := mustRead(t, []byte(c.text))
			var names []string
			for _, s := range Spans(file.Resources) {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff(c.refused, refusals(&file.Summary)); diff != "" || strings.Join(names, "|") != c.names {
				t.Errorf("names %q; refused %s", names, diff)
			}
		})
	}
}

// TestIssueProtobufSaysWhy: a span that protobuf refuses comes with the reason.
func TestIssueProtobufSaysWhy(t *testing.T) {
	content := readSample(t, "otlp-proto-small/traces.pb")
	at := bytes.Index(content, []byte("oteldemo."))
	content = bytes.Clone(content)
	content[at] = 0xff
	file := mustRead(t, content)
	if len(file.Refusals) != 1 || file.Refusals[0].Reason != "invalid protobuf: string field contains invalid UTF-8" {
		t.Errorf("got %v", file.Refusals)
	}
}
