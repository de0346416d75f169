package span

import (
	"math"
	"strconv"
	"time"
)

// Attributes holds values of type string, bool, int64, float64, or []any of these. A nil Attributes is empty.
type Attributes map[string]any

// Has reports whether the key is set.
func (a Attributes) Has(key string) bool { _, ok := a[key]; return ok }

// String returns the value as text: numbers and booleans are written out, lists are not text and give "".
func (a Attributes) String(key string) string {
	switch v := a[key].(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// Float returns a finite number, also from a number written as text.
func (a Attributes) Float(key string) (float64, bool) {
	var f float64
	switch v := a[key].(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	case string:
		p, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return 0, false
		}
		f = p
	default:
		return 0, false
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// Int returns a whole number, also from one written as text or as a float without fraction.
func (a Attributes) Int(key string) (int64, bool) {
	switch v := a[key].(type) {
	case int64:
		return v, true
	case string:
		i, err := strconv.ParseInt(v, 10, 64)
		return i, err == nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
	}
	return 0, false
}

// Bool returns a boolean, also from "true" and "false" written as text.
func (a Attributes) Bool(key string) (value, ok bool) {
	switch v := a[key].(type) {
	case bool:
		return v, true
	case string:
		switch v {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	return false, false
}

// Seconds returns a number of seconds as a duration, rounded to the nanosecond. Values beyond a century are refused.
func (a Attributes) Seconds(key string) (time.Duration, bool) {
	f, ok := a.Float(key)
	if !ok {
		return 0, false
	}
	return DurationOf(f)
}

// DurationOf returns a number of seconds as a duration, rounded to the nanosecond. What is no number or beyond a century is
// refused.
func DurationOf(seconds float64) (time.Duration, bool) {
	if !(math.Abs(seconds) <= 100*365.25*86400) {
		return 0, false
	}
	return time.Duration(math.Round(seconds * 1e9)), true
}
