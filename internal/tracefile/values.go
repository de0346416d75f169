package tracefile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// maxValueDepth bounds nested values; what is deeper is written as JSON text, because receivers refuse deep messages.
const maxValueDepth = 16

// clean makes text valid UTF-8, which protobuf insists on.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func stringValue(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: clean(s)}}
}

func intValue(i int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: i}}
}

func doubleValue(f float64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: f}}
}

func boolValue(b bool) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: b}}
}

// plainValue turns a decoded JSON value into an attribute value of the same type.
func plainValue(v any, depth int) *commonpb.AnyValue {
	switch v := v.(type) {
	case string:
		return stringValue(v)
	case bool:
		return boolValue(v)
	case json.Number:
		return numberValue(string(v))
	case []any:
		if depth >= maxValueDepth {
			return stringValue(jsonText(v))
		}
		values := make([]*commonpb.AnyValue, len(v))
		for i := range v {
			values[i] = plainValue(v[i], depth+1)
		}
		return arrayValue(values)
	case map[string]any:
		if depth >= maxValueDepth {
			return stringValue(jsonText(v))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{
			KvlistValue: &commonpb.KeyValueList{Values: plainAttrs(v, depth+1)}}}
	}
	return &commonpb.AnyValue{}
}

func arrayValue(values []*commonpb.AnyValue) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: values}}}
}

// plainAttrs turns a JSON object into attributes in the order of their keys.
func plainAttrs(o object, depth int) []*commonpb.KeyValue {
	attrs := make([]*commonpb.KeyValue, 0, len(o))
	for _, key := range sortedKeys(o) {
		attrs = append(attrs, &commonpb.KeyValue{Key: clean(key), Value: plainValue(o[key], depth)})
	}
	return attrs
}

func sortedKeys(o object) []string {
	keys := make([]string, 0, len(o))
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// numberValue keeps whole numbers whole.
func numberValue(text string) *commonpb.AnyValue {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return intValue(i)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) {
		return doubleValue(f)
	}
	return stringValue(text)
}

func bytesValue(text string) *commonpb.AnyValue {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return stringValue(text)
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: b}}
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// scaledTime reads a count of units since 1970 without losing a digit. empty text is no time and gives ok false.
func scaledTime(text string, unit time.Duration) (ns uint64, ok bool, err error) {
	i, ok, err := scaled(text, unit)
	if err != nil || !ok {
		return 0, false, err
	}
	if i.Sign() < 0 {
		return 0, false, fmt.Errorf("time %s lies before 1970", text)
	}
	if !i.IsUint64() {
		return 0, false, fmt.Errorf("time %s lies later than 2261", text)
	}
	return i.Uint64(), true, nil
}

// scaledDuration reads a length in units.
func scaledDuration(text string, unit time.Duration) (ns uint64, ok bool, err error) {
	i, ok, err := scaled(text, unit)
	if err != nil || !ok {
		return 0, false, err
	}
	if i.Sign() < 0 {
		return 0, false, fmt.Errorf("negative duration %s", text)
	}
	if !i.IsInt64() {
		return 0, false, fmt.Errorf("duration %s is longer than 292 years", text)
	}
	return i.Uint64(), true, nil
}

func scaled(text string, unit time.Duration) (*big.Int, bool, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, false, nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return new(big.Int).Mul(big.NewInt(i), big.NewInt(int64(unit))), true, nil
	}
	// More digits, a fraction or an exponent. Long texts are refused: 1e999999999 would fill the memory.
	if f, err := strconv.ParseFloat(text, 64); err != nil || len(text) > 40 || math.Abs(f) > 1e30 || (f != 0 && math.Abs(f) < 1e-30) || math.IsNaN(f) {
		return nil, false, fmt.Errorf("%.40q is not a number of time", text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, false, fmt.Errorf("%.40q is not a number", text)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(unit)))
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		half.Neg(half)
	}
	r.Add(r, half)
	return new(big.Int).Quo(r.Num(), r.Denom()), true, nil
}

var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02",
}

// textTime reads a written date and time; without a zone it is UTC.
func textTime(text string) (uint64, error) {
	text = strings.TrimSpace(text)
	for _, layout := range timeLayouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		switch {
		case t.Year() < 1970 || t.Unix() < 0:
			return 0, fmt.Errorf("time %s lies before 1970", text)
		case t.Year() > 2261:
			return 0, fmt.Errorf("time %s lies later than 2261", text)
		}
		return uint64(t.UnixNano()), nil
	}
	return 0, fmt.Errorf("%.40q is not a time", text)
}

// anyTime reads a written time or else a count of units.
func anyTime(text string, unit time.Duration) (ns uint64, ok bool, err error) {
	if strings.Count(text, "-") >= 2 {
		ns, err = textTime(text)
		return ns, err == nil, err
	}
	return scaledTime(text, unit)
}

// endAfter adds a duration to a start; both are within range, so the sum fits.
func endAfter(start, duration uint64) uint64 {
	if start+duration < start {
		return math.MaxUint64
	}
	return start + duration
}
