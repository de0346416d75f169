package span

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Seconds is a length of time in whole nanoseconds that prints, as text and as JSON, as decimal seconds with at most six
// decimals: -0.3 s is written -0.3. Arithmetic on it is exact; only printing rounds, half away from zero.
type Seconds int64

// SecondsOf converts a duration.
func SecondsOf(d time.Duration) Seconds { return Seconds(d) }

// Duration returns the value as a duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) }

// Float returns the value as a number of seconds.
func (s Seconds) Float() float64 { return float64(s) / 1e9 }

// String returns decimal seconds with at most six decimals and no unit.
func (s Seconds) String() string { return string(s.append(nil)) }

func (s Seconds) append(buf []byte) []byte {
	n := uint64(s)
	if s < 0 {
		n = -n
	}
	micros := n / 1000
	if n%1000 >= 500 {
		micros++
	}
	if s < 0 && micros > 0 {
		buf = append(buf, '-')
	}
	buf = strconv.AppendUint(buf, micros/1e6, 10)
	fraction := micros % 1e6
	if fraction == 0 {
		return buf
	}
	digits := strconv.FormatUint(fraction+1e6, 10)[1:]
	buf = append(buf, '.')
	return append(buf, strings.TrimRight(digits, "0")...)
}

// MarshalJSON writes decimal seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return s.append(nil), nil }

// UnmarshalJSON reads decimal seconds without passing through a float; digits beyond the nanosecond are cut off.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		return nil
	}
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f > 9e9 || f < -9e9 {
			return fmt.Errorf("seconds: %q is no length of time", text)
		}
		*s = Seconds(f * 1e9)
		return nil
	}
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	w, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || w > 9_000_000_000 {
		return fmt.Errorf("seconds: %q is no length of time", text)
	}
	if len(fraction) > 9 {
		fraction = fraction[:9]
	}
	f, err := strconv.ParseUint(fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
	if err != nil {
		return fmt.Errorf("seconds: %q is no length of time", text)
	}
	n := int64(w*1e9 + f)
	if negative {
		n = -n
	}
	*s = Seconds(n)
	return nil
}

// Human returns the length of time as people read it: seconds, milliseconds or microseconds, at most four digits of detail.
func (s Seconds) Human() string {
	n, sign := uint64(s), ""
	if s < 0 {
		n, sign = -n, "-"
	}
	switch {
	case n >= 100e9-5e7:
		return sign + decimals(n, 1e9, 1) + " s"
	case n >= 1e9-5e5:
		return sign + decimals(n, 1e9, 3) + " s"
	case n >= 1e6-500:
		return sign + decimals(n, 1e6, 1) + " ms"
	case n >= 500:
		return sign + decimals(n, 1e3, 0) + " µs"
	case n > 0:
		return sign + strconv.FormatUint(n, 10) + " ns"
	}
	return "0 s"
}

// decimals writes n in so large a unit with at most so many decimals, rounded half up, without trailing zeros.
func decimals(n, unit uint64, places int) string {
	step := unit
	for range places {
		step /= 10
	}
	n = (n + step/2) / step
	text := strconv.FormatUint(n, 10)
	if places == 0 {
		return text
	}
	for len(text) <= places {
		text = "0" + text
	}
	whole, fraction := text[:len(text)-places], strings.TrimRight(text[len(text)-places:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
