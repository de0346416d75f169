package tracefile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Columns says which column of a CSV file holds what. Empty names are absent; Trace, Span and Start must be there, and
// either End or Duration should be. A column that is not named here becomes an attribute.
type Columns struct {
	Trace, Span, Parent, Service, Name, Kind, Status, Message string
	Start, End, Duration                                      string
	// Units of numbers in the time columns; written times need none. Zero is nanoseconds for Start and End, and must be
	// given for Duration if it is used.
	StartUnit, EndUnit, DurationUnit time.Duration
	// Pod says that Service holds pod names, of which the hash at the end is cut off.
	Pod bool
}

var columnUnits = map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond, "s": time.Second}

// ParseColumns reads a map as "trace=TraceID,span=SpanID,start=Begin:us,duration=Took:ms". The keys are trace, span,
// parent, service, pod, name, kind, status, message, start, end, duration; times take a unit: ns, us, ms or s.
func ParseColumns(text string) (*Columns, error) {
	c := &Columns{}
	for _, part := range strings.Split(text, ",") {
		key, column, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || column == "" {
			return nil, fmt.Errorf("column map: %q is not KEY=COLUMN", part)
		}
		if err := c.set(key, column); err != nil {
			return nil, err
		}
	}
	return c, c.validate()
}

func (c *Columns) set(key, column string) error {
	var unit *time.Duration
	switch key {
	case "start":
		unit = &c.StartUnit
	case "end":
		unit = &c.EndUnit
	case "duration":
		unit = &c.DurationUnit
	case "pod":
		c.Pod = true
	}
	if unit != nil {
		name, unitName, ok := cutLast(column, ":")
		if ok {
			u, known := columnUnits[unitName]
			if !known {
				return fmt.Errorf("column map: unit %q of %s is not one of ns, us, ms, s", unitName, key)
			}
			column, *unit = name, u
		}
	}
	field := c.field(key)
	if field == nil {
		return fmt.Errorf("column map: unknown key %q; the keys are trace, span, parent, service, pod, name, kind, status, message, start, end, duration", key)
	}
	*field = column
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (c *Columns) field(key string) *string {
	switch key {
	case "trace":
		return &c.Trace
	case "span":
		return &c.Span
	case "parent":
		return &c.Parent
	case "service", "pod":
		return &c.Service
	case "name":
		return &c.Name
	case "kind":
		return &c.Kind
	case "status":
		return &c.Status
	case "message":
		return &c.Message
	case "start":
		return &c.Start
	case "end":
		return &c.End
	case "duration":
		return &c.Duration
	}
	return nil
}

func (c *Columns) validate() error {
	switch {
	case c.Trace == "" || c.Span == "" || c.Start == "":
		return errors.New("column map: trace, span and start are needed; give them as --csv-map trace=COLUMN,span=COLUMN,start=COLUMN:UNIT,…")
	case c.End == "" && c.Duration != "" && c.DurationUnit == 0:
		return fmt.Errorf("column map: the unit of column %q is not known; give it as --csv-map …,duration=%s:us (ns, us, ms or s)", c.Duration, c.Duration)
	}
	return nil
}

// Column names without case, spaces, dots, dashes and underscores, as several tools write them.
var knownColumns = map[string]string{
	"traceid": "trace", "trace": "trace", "spanid": "span", "span": "span", "id": "span",
	"parentid": "parent", "parentspanid": "parent", "parentspan": "parent", "parent": "parent",
	"service": "service", "servicename": "service", "podname": "pod", "pod": "pod", "cmdbid": "service",
	"name": "name", "spanname": "name", "operation": "name", "operationname": "name",
	"kind": "kind", "spankind": "kind", "status": "status", "statuscode": "status", "statusmessage": "message",
	"start": "start", "starttime": "start", "starttimeunixnano": "start", "timestamp": "start",
	"starttimens": "start:ns", "starttimeus": "start:us", "starttimems": "start:ms", "timestampms": "start:ms", "timestampus": "start:us",
	"end": "end", "endtime": "end", "endtimeunixnano": "end", "endtimens": "end:ns", "endtimeus": "end:us", "endtimems": "end:ms",
	"duration": "duration", "durationns": "duration:ns", "durationus": "duration:us", "durationms": "duration:ms", "durationnano": "duration:ns",
}

var plainName = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// columnsOf finds the columns by the names in the header.
func columnsOf(header []string) *Columns {
	c := &Columns{}
	names := map[string]bool{}
	for _, column := range header {
		names[column] = true
		key, ok := knownColumns[plainName.Replace(strings.ToLower(strings.TrimSpace(column)))]
		if !ok {
			continue
		}
		key, unit, hasUnit := strings.Cut(key, ":")
		if field := c.field(key); field == nil || *field != "" {
			continue
		}
		if hasUnit {
			column += ":" + unit
		}
		_ = c.set(key, column)
	}
	if names["SpanName"] && names["Timestamp"] && names["Duration"] { // the otel_traces layout
		c.DurationUnit = time.Nanosecond
	}
	return c
}

// looksLikeCSV also takes a header of unknown names, to tell of the column map, unless JSON follows: then it is a log.
func looksLikeCSV(head []byte) bool {
	header, _, ok := bytes.Cut(head, []byte("\n"))
	if !ok && len(head) == peekSize {
		return false
	}
	names := strings.Split(strings.TrimRight(string(header), "\r"), string(delimiter(header)))
	for i := range names {
		names[i] = strings.Trim(names[i], `"`)
	}
	c := columnsOf(names)
	return c.Trace != "" && c.Span != "" || len(names) > 3 && recordStart(head) < 0
}

func delimiter(header []byte) rune {
	best := ','
	for _, r := range ";\t|" {
		if bytes.Count(header, []byte(string(r))) > bytes.Count(header, []byte(string(best))) {
			best = r
		}
	}
	return best
}

type csvReader struct {
	columns Columns
	index   map[string]int
	header  []string
	sink    *sink
}

func readCSV(br *bufio.Reader, opts Options, s *sink) error {
	head, _ := br.Peek(peekSize)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	rows := &csvRows{br: br, comma: delimiter(line), max: opts.MaxRecord}
	header, _, err := rows.next()
	if err != nil {
		return fmt.Errorf("%w: CSV header: %v", ErrFormat, err)
	}
	rows.fields = len(header)
	c := &csvReader{header: header, index: map[string]int{}, sink: s}
	for i, column := range header {
		header[i] = strings.TrimSpace(column)
		c.index[header[i]] = i
	}
	if opts.Columns != nil {
		c.columns = *opts.Columns
	} else {
		c.columns = *columnsOf(header)
	}
	if err := c.check(); err != nil {
		return err
	}
	for {
		row, at, err := rows.next()
		if err == io.EOF {
			return nil
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			s.refuse(at, "%v", parse.Err)
			continue
		}
		if err != nil {
			return err
		}
		if err := c.row(row, at); err != nil {
			return err
		}
	}
}

func (c *csvReader) check() error {
	if err := c.columns.validate(); err != nil {
		return fmt.Errorf("%w; the header is %.300s", err, strings.Join(c.header, ","))
	}
	for _, key := range []string{"trace", "span", "parent", "service", "name", "kind", "status", "message", "start", "end", "duration"} {
		column := *c.columns.field(key)
		if _, ok := c.index[column]; column != "" && !ok {
			return fmt.Errorf("column map: no column %q (for %s); the header is %.300s", column, key, strings.Join(c.header, ","))
		}
	}
	return nil
}

func (c *csvReader) row(row []string, at Position) error {
	if len(row) != len(c.header) {
		c.sink.refuse(at, "%d fields, the header has %d", len(row), len(c.header))
		return nil
	}
	get := func(column string) string {
		if column == "" {
			return ""
		}
		return row[c.index[column]]
	}
	col := &c.columns
	sp := &tracepb.Span{Name: clean(get(col.Name)), Kind: spanKind(get(col.Kind))}
	parent := strings.TrimSpace(get(col.Parent))
	switch strings.ToLower(parent) {
	case "root", "null", "none", "nil", "-":
		parent = ""
	}
	setIDs(sp, get(col.Trace), get(col.Span), parent)
	if err := c.times(sp, get); err != nil {
		c.sink.refuse(at, "%v", err)
		return nil
	}
	if status := get(col.Status); status != "" || get(col.Message) != "" {
		sp.Status = &tracepb.Status{Code: statusCode(status), Message: clean(get(col.Message))}
	}
	for i, value := range row {
		if value != "" && !c.used(c.header[i]) {
			sp.Attributes = append(sp.Attributes, stringAttr(c.header[i], value))
		}
	}
	return c.sink.add(at, CSV, c.sink.resourceOf(c.resource(get(col.Service))), scope{}, sp)
}

func (c *csvReader) used(column string) bool {
	for _, key := range []string{"trace", "span", "parent", "service", "name", "kind", "status", "message", "start", "end", "duration"} {
		if *c.columns.field(key) == column {
			return true
		}
	}
	return false
}

func (c *csvReader) times(sp *tracepb.Span, get func(string) string) error {
	col := &c.columns
	unit := func(u time.Duration) time.Duration { return max(u, time.Nanosecond) }
	start, ok, err := anyTime(get(col.Start), unit(col.StartUnit))
	if err == nil && !ok {
		err = errNoStart
	}
	if err != nil {
		return fmt.Errorf("%s: %w", col.Start, err)
	}
	sp.StartTimeUnixNano = start
	end, ok, err := anyTime(get(col.End), unit(col.EndUnit))
	if err != nil {
		return fmt.Errorf("%s: %w", col.End, err)
	}
	if !ok {
		duration, _, err := scaledDuration(get(col.Duration), unit(col.DurationUnit))
		if err != nil {
			return fmt.Errorf("%s: %w", col.Duration, err)
		}
		end = endAfter(start, duration)
	}
	sp.EndTimeUnixNano = end
	return nil
}

// podName matches the names that a Kubernetes deployment gives its pods: a hash of the template and five letters.
var podName = regexp.MustCompile(`^(.+)-[bcdf0-9]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

func (c *csvReader) resource(service string) []*commonpb.KeyValue {
	if service == "" {
		return nil
	}
	if !c.columns.Pod {
		return []*commonpb.KeyValue{stringAttr("service.name", service)}
	}
	pod := service
	if m := podName.FindStringSubmatch(pod); m != nil {
		service = m[1]
	}
	return []*commonpb.KeyValue{stringAttr("service.name", service), stringAttr("k8s.pod.name", pod)}
}
