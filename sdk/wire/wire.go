// Package wire reads and writes the forms in which a remainder of time leaves a process. All functions are pure and safe for
// concurrent use.
//
// The rules are the same for every form, and sdk/conformance/wire.txt holds them as vectors for any language: a value is
// rounded down, so that a child never gets more than its parent has; zero and negative values have expired; what is
// malformed, or longer than a year, counts as missing, and missing is not zero.
package wire

import (
	"strconv"
	"strings"
	"time"
)

// Longest is the longest remainder that is believed. What asks for more means no limit.
const Longest = 365 * 24 * time.Hour

// ParseMillis reads whole milliseconds, as X-Request-Timeout-Ms and Connect-Timeout-Ms carry them. It returns zero for what
// has expired and false for what counts as missing.
func ParseMillis(s string) (time.Duration, bool) {
	return scaled(strings.Trim(s, " \t"), time.Millisecond, 19)
}

// ParseEnvoy reads X-Envoy-Expected-Rq-Timeout-Ms, where zero means no limit and so counts as missing.
func ParseEnvoy(s string) (time.Duration, bool) {
	d, ok := ParseMillis(s)
	return d, ok && (d > 0 || strings.Contains(s, "-"))
}

// ParseConnect reads Connect-Timeout-Ms, which has at most ten digits.
func ParseConnect(s string) (time.Duration, bool) {
	return scaled(strings.Trim(s, " \t"), time.Millisecond, 10)
}

// ParseGRPC reads grpc-timeout: at most eight digits and a unit.
func ParseGRPC(s string) (time.Duration, bool) {
	s = strings.Trim(s, " \t")
	if len(s) < 2 {
		return 0, false
	}
	var unit time.Duration
	switch s[len(s)-1] {
	case 'H':
		unit = time.Hour
	case 'M':
		unit = time.Minute
	case 'S':
		unit = time.Second
	case 'm':
		unit = time.Millisecond
	case 'u':
		unit = time.Microsecond
	case 'n':
		unit = time.Nanosecond
	default:
		return 0, false
	}
	return scaled(s[:len(s)-1], unit, 8)
}

// scaled reads a whole number of at most the given number of digits.
func scaled(s string, unit time.Duration, digits int) (time.Duration, bool) {
	negative := strings.HasPrefix(s, "-")
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > digits {
		return 0, false
	}
	var n int64
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' || n > (1<<63-1-9)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	switch {
	case negative:
		return 0, true
	case n > int64(Longest/unit):
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// FormatMillis writes a remainder as whole milliseconds, rounded down; what is left of none is "0".
func FormatMillis(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 0), 10) }

// FormatGRPC writes a remainder for grpc-timeout in the finest unit that eight digits hold, rounded down.
func FormatGRPC(d time.Duration) string {
	const most = 99_999_999
	for _, u := range [...]struct {
		unit time.Duration
		name string
	}{{time.Nanosecond, "n"}, {time.Microsecond, "u"}, {time.Millisecond, "m"}, {time.Second, "S"}, {time.Minute, "M"}} {
		if n := d / u.unit; n <= most {
			return strconv.FormatInt(max(int64(n), 0), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d/time.Hour), 10) + "H"
}

// Smallest reads the values that parse accepts, also where a proxy joined repeated headers by commas, and returns the
// smallest of them and d; ok says whether d is a value already.
func Smallest(d time.Duration, ok bool, values []string, parse func(string) (time.Duration, bool)) (time.Duration, bool) {
	for _, list := range values {
		for v := range strings.SplitSeq(list, ",") {
			if got, valid := parse(v); valid && (!ok || got < d) {
				d, ok = got, true
			}
		}
	}
	return d, ok
}
