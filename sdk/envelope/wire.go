package envelope

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// Schema is the JSON schema (2020-12) of an envelope.
//
//go:embed schema.json
var Schema []byte

// MarshalJSON writes seconds with nanoseconds as decimals.
func (s Seconds) MarshalJSON() ([]byte, error) { return []byte(s.text()), nil }

func (s Seconds) text() string {
	if s < 0 {
		return "-" + (-s).text()
	}
	whole, part := s/Seconds(time.Second), s%Seconds(time.Second)
	if part == 0 {
		return strconv.FormatInt(int64(whole), 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%09d", whole, part), "0")
}

// UnmarshalJSON reads a finite number of seconds, exactly where it is a decimal of at most nine places.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	whole, part, _ := strings.Cut(string(b), ".")
	if n, err := strconv.ParseUint(whole, 10, 63); err == nil && n < maxSeconds && len(part) <= 9 {
		ns, err := strconv.ParseUint("0"+part+"000000000"[len(part):], 10, 64)
		if err == nil {
			*s = Seconds(n*uint64(time.Second) + ns)
			return nil
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("%w: %s is no number of seconds", ErrInvalid, b)
	}
	d, err := budget.Seconds(f)
	*s = Seconds(d)
	return err
}

const maxSeconds = uint64(math.MaxInt64 / time.Second)

// Parse reads an envelope from JSON and validates it. Fields it does not know are passed over.
func Parse(b []byte) (Envelope, error) {
	var read struct {
		Envelope
		AttemptsLeft *int `json:"attempts_left"`
	}
	if err := json.Unmarshal(b, &read); err != nil {
		return Envelope{}, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	e := read.Envelope
	if read.AttemptsLeft == nil {
		return e, fmt.Errorf("%w: attempts_left is required, -1 for any number", ErrInvalid)
	}
	e.AttemptsLeft = *read.AttemptsLeft
	e.utc()
	return e, e.Validate()
}

func (e *Envelope) utc() {
	for _, at := range []*time.Time{&e.CreatedAt, &e.QueuedAt, &e.DeadlineAt, &e.ExpiresAt, &e.NeededBy} {
		if !at.IsZero() {
			*at = at.UTC()
		}
	}
}

// HeaderPrefix begins every key of an envelope in the headers of a message: Work-Id is HeaderPrefix + "id".
const HeaderPrefix = "work-"

// Inject writes the envelope into the headers of a message, one key for each field: that of JSON with dashes, without its
// first "work_". Instants are RFC 3339, durations seconds, maps "name=value,…".
func (e *Envelope) Inject(c propagation.TextMapCarrier) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	for name, raw := range fields {
		text, err := headerText(raw)
		if err != nil {
			return fmt.Errorf("%w: %s: %v", ErrInvalid, name, err)
		}
		c.Set(headerKey(name), text)
	}
	return nil
}

func headerKey(field string) string {
	return HeaderPrefix + strings.ReplaceAll(strings.TrimPrefix(field, "work_"), "_", "-")
}

func headerText(raw json.RawMessage) (string, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		if strings.ContainsAny(v, "\r\n") {
			return "", fmt.Errorf("%q does not fit a header", v)
		}
		return v, nil
	case map[string]any:
		pairs := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if strings.ContainsAny(k, "=,\r\n") {
				return "", fmt.Errorf("%q does not fit a header", k)
			}
			pairs = append(pairs, fmt.Sprintf("%s=%v", k, v[k]))
		}
		return strings.Join(pairs, ","), nil
	}
	return string(raw), nil
}

// textFields and mapFields are the fields whose header is not written as in JSON.
var (
	textFields = []string{"work_id", "cancellation_id", "parent_id", "created_at", "queued_at", "clock", "deadline_at", "expires_at",
		"needed_by", "class", "owner", "expired_to", "reason", "regrant_of", "granted_by"}
	mapFields    = []string{"attempts", "costs"}
	numberFields = []string{"min_useful_s", "synthesis_reserve_s", "attempts_left", "waited_s", "regrants"}
)

// Extract reads an envelope from the headers of a message and validates it. A header that says several things is believed
// in none.
func Extract(c propagation.TextMapCarrier) (Envelope, error) {
	if many, ok := c.(propagation.ValuesGetter); ok {
		for _, name := range slices.Concat(textFields, numberFields, mapFields) {
			values := many.Values(headerKey(name))
			if len(values) > 1 && slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
				return Envelope{}, fmt.Errorf("%w: header %s is repeated", ErrInvalid, headerKey(name))
			}
		}
	}
	fields := map[string]json.RawMessage{}
	for _, name := range textFields {
		if v := c.Get(headerKey(name)); v != "" {
			fields[name], _ = json.Marshal(v)
		}
	}
	for _, name := range numberFields {
		if v := c.Get(headerKey(name)); v != "" {
			fields[name] = json.RawMessage(v)
		}
	}
	for _, name := range mapFields {
		v := c.Get(headerKey(name))
		if v == "" {
			continue
		}
		pairs := map[string]json.RawMessage{}
		for pair := range strings.SplitSeq(v, ",") {
			k, n, ok := strings.Cut(pair, "=")
			if !ok {
				return Envelope{}, fmt.Errorf("%w: header %s: %q is no name=value", ErrInvalid, headerKey(name), pair)
			}
			if _, repeated := pairs[k]; repeated {
				return Envelope{}, fmt.Errorf("%w: header %s: %q is repeated", ErrInvalid, headerKey(name), k)
			}
			pairs[k] = json.RawMessage(n)
		}
		b, err := json.Marshal(pairs)
		if err != nil {
			return Envelope{}, fmt.Errorf("%w: header %s: %v", ErrInvalid, headerKey(name), err)
		}
		fields[name] = b
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return Envelope{}, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	return Parse(b)
}
