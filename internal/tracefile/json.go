package tracefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// jsonReader walks JSON text record by record: whole files, lines, objects one after the other, and any mixture.
type jsonReader struct {
	src    *source
	sink   *sink
	zipkin zipkinTraces
	depth  int  // of containers in containers
	lost   bool // the last value was broken: brackets that remain of it are passed over
}

// maxContainers is more than any tool nests: hits in hits, a trace in a result.
const maxContainers = 8

// Keys whose value holds records, one by one.
var (
	otlpContainers  = []string{"resourceSpans", "resource_spans", "batches"}
	otherSignals    = []string{"resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics", "resourceProfiles", "resource_profiles"}
	otlpScopes      = []string{"scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"}
	otherScopes     = []string{"scopeLogs", "scope_logs", "scopeMetrics", "scope_metrics", "scopeProfiles", "scope_profiles"}
	otherContainers = []string{"data", "hits", "result", "trace", "traces"}
)

func (j *jsonReader) run() error {
	for {
		c, err := j.src.peek()
		if errors.Is(err, io.EOF) {
			return j.zipkin.flush(j.sink)
		}
		if err != nil {
			return err
		}
		at := j.src.here()
		switch {
		case c == '{':
			err = j.object(at)
		case c == '[':
			err = j.array(at, false, 0)
		case c == ',' || j.lost && (c == ']' || c == '}'):
			j.src.skip()
			continue
		default:
			err = j.textLine(at)
		}
		var broken *errBroken
		if j.lost = errors.As(err, &broken); j.lost {
			err = j.src.resync()
		}
		if err != nil {
			return err
		}
	}
}

// textLine passes over a line of a log around the spans; a piece of JSON is refused.
func (j *jsonReader) textLine(at Position) error {
	quoted, err := j.src.skipLine()
	if quoted {
		j.sink.refuse(at, "the line is not JSON")
	} else {
		j.sink.summary.Text++
	}
	return err
}

// broken refuses and passes the error on to where reading is taken up again.
func (j *jsonReader) broken(at Position, err error) error {
	if errors.Is(err, io.EOF) {
		err = &errBroken{"the file ends in the middle"}
	}
	var broken *errBroken
	if errors.As(err, &broken) {
		j.sink.refuse(at, "%s", broken.reason)
	}
	return err
}

// object walks an object: containers in it are gone through one record at a time; without any it is a record itself.
func (j *jsonReader) object(at Position) error {
	j.src.skip()
	fields, container, unusable, size := object{}, false, false, 0
	for {
		c, err := j.src.peek()
		switch {
		case err != nil:
			return j.broken(at, err)
		case c == '}':
			j.src.skip()
			if container || unusable {
				return nil
			}
			return j.record(fields, at)
		case c == ',':
			j.src.skip()
			continue
		case c != '"':
			return j.broken(at, &errBroken{fmt.Sprintf("invalid JSON: %q where a key is due", c)})
		}
		key, err := j.key()
		if err != nil {
			return j.broken(at, err)
		}
		if c, err = j.src.peek(); err != nil {
			return j.broken(at, err)
		}
		if (c == '[' || c == '{') && isContainer(key) && j.depth < maxContainers {
			container = true
			if err := j.container(key, c, at); err != nil {
				return err
			}
			continue
		}
		raw, err := j.src.next()
		if err != nil {
			return j.broken(at, err)
		}
		if slices.Contains(otherSignals, key) {
			container = true
			j.sink.summary.Other++
			continue
		}
		if size += len(raw); size > j.src.max {
			return j.broken(at, &errBroken{fmt.Sprintf("a record of more than %d MiB", j.src.max>>20)})
		}
		value, ok := j.decode(raw, withPath(j.src.start, joinPath(at.Path, key)))
		if !ok {
			unusable = true
			continue
		}
		fields[key] = value
	}
}

func (j *jsonReader) key() (string, error) {
	raw, err := j.src.next()
	if err != nil {
		return "", err
	}
	var key string
	if err := json.Unmarshal(raw, &key); err != nil {
		return "", &errBroken{"invalid JSON: a key that is not a text"}
	}
	c, err := j.src.peek()
	if err != nil {
		return "", err
	}
	if c != ':' {
		return "", &errBroken{fmt.Sprintf("invalid JSON: %q where ':' is due", c)}
	}
	j.src.skip()
	return key, nil
}

func (j *jsonReader) container(key string, opening byte, at Position) error {
	here := withPath(j.src.here(), joinPath(at.Path, key))
	j.depth++
	defer func() { j.depth-- }()
	if opening == '[' {
		return j.array(here, slices.Contains(otlpContainers, key), 1)
	}
	return j.object(here)
}

// array walks a list of records. Zipkin answers with lists of lists, one for each trace.
func (j *jsonReader) array(at Position, otlp bool, depth int) error {
	j.src.skip()
	for i := 0; ; {
		c, err := j.src.peek()
		if err != nil {
			return j.broken(at, err)
		}
		here := withPath(j.src.here(), fmt.Sprintf("%s[%d]", at.Path, i))
		switch {
		case c == ']':
			j.src.skip()
			return nil
		case c == ',':
			j.src.skip()
			i++
			continue
		case c == '[' && depth == 0:
			if err := j.array(here, otlp, depth+1); err != nil {
				return err
			}
			if err := j.zipkin.flush(j.sink); err != nil {
				return err
			}
			continue
		}
		raw, err := j.src.next()
		if err != nil {
			return j.broken(here, err)
		}
		if err := j.element(raw, here, otlp); err != nil {
			return err
		}
	}
}

func (j *jsonReader) element(raw []byte, at Position, otlp bool) error {
	value, ok := j.decode(raw, at)
	if !ok {
		return nil
	}
	o, ok := value.(map[string]any)
	switch {
	case !ok:
		j.sink.refuse(at, "not an object")
		return nil
	case otlp && !has(o, otlpContainers...):
		return readResourceSpans(j.sink, o, at)
	}
	return j.record(o, at)
}

// record tells what an object is by its own keys, so that a file may mix formats.
func (j *jsonReader) record(o object, at Position) error {
	switch {
	case has(o, otlpContainers...):
		return j.each(o, otlpContainers, at, readResourceSpans)
	case has(o, otlpScopes...):
		return readResourceSpans(j.sink, o, at)
	case has(o, otherSignals...) || has(o, otherScopes...):
		j.sink.summary.Other++
		return nil
	case child(o, "_source") != nil:
		return j.record(child(o, "_source"), withPath(at, joinPath(at.Path, "_source")))
	case has(o, "spans") && has(o, "processes", "traceID"):
		return readJaegerTrace(j.sink, o, at)
	case has(o, "traceID") && has(o, "spanID"):
		return readJaegerSpan(j.sink, o, at)
	case has(o, "TraceId") && has(o, "SpanId"):
		return readClickHouseRow(j.sink, o, at)
	case text(child(o, "context"), "trace_id") != "":
		return readPythonSpan(j.sink, o, at)
	case text(child(o, "SpanContext"), "TraceID") != "":
		return readGoSpan(j.sink, o, at)
	case has(o, "traceId") && has(o, "id") && has(o, "attributes", "resource", "instrumentationScope"):
		return readJavaScriptSpan(j.sink, o, at)
	case has(o, "traceId") && has(o, "id"):
		j.zipkin.add(j.sink, o, at)
		return nil
	case has(o, "traceId", "trace_id") && has(o, "spanId", "span_id"):
		return readSpan(j.sink, nil, scope{}, o, at)
	case has(o, "data", "hits"):
		return j.each(o, []string{"data", "hits"}, at, func(_ *sink, o object, at Position) error { return j.record(o, at) })
	}
	j.sink.refuse(at, "no span of a known format; its keys: %s", keyList(o))
	return nil
}

func (j *jsonReader) each(o object, keys []string, at Position, do func(*sink, object, Position) error) error {
	for _, key := range keys {
		for i, e := range objects(o, key) {
			if err := do(j.sink, e, withPath(at, fmt.Sprintf("%s[%d]", joinPath(at.Path, key), i))); err != nil {
				return err
			}
		}
	}
	return nil
}

func isContainer(key string) bool {
	return slices.Contains(otlpContainers, key) || slices.Contains(otherContainers, key)
}

func withPath(at Position, path string) Position {
	at.Path = path
	return at
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func keyList(o object) string {
	keys := sortedKeys(o)
	if len(keys) == 0 {
		return "none"
	}
	if len(keys) > 8 {
		keys = append(keys[:8], "…")
	}
	return fmt.Sprintf("%.200s", strings.Join(keys, ", "))
}
