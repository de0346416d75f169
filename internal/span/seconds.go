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
