package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	defaultFrom = "now-24h"
	defaultTo   = "now"
	// maxWindow reaches from any day of this century back to 1970: recorded traces are imported long after they happened,
	// and recorders without a clock begin at zero.
	maxWindow = 130 * 365 * 24 * time.Hour
	// targetBuckets is how many buckets a window is cut into, or a few less.
	targetBuckets = 60
)

const instantAdvice = "use RFC 3339 or now minus a length, for example from=now-7d&to=now"

// parseWindow reads both ends of a time window. From is inclusive, to exclusive.
func parseWindow(from, to string, now time.Time) (time.Time, time.Time, *problem) {
	begin, err := parseInstant(orDefault(from, defaultFrom), now)
	if err != nil {
		return begin, begin, invalid("from", err.Error(), instantAdvice)
	}
	end, err := parseInstant(orDefault(to, defaultTo), now)
	if err != nil {
		return begin, end, invalid("to", err.Error(), instantAdvice)
	}
	if !begin.Before(end) {
		return begin, end, invalid("from", "the window ends before it begins", "give a from that lies before to (default now)")
	}
	if end.Sub(begin) > maxWindow {
		return begin, end, invalid("from", "the window is longer than 130 years", "ask for a shorter window")
	}
	return begin, end, nil
}

// parseInstant reads RFC 3339, now, or now minus a length in s, m, h, d or w. Times that ClickHouse cannot hold are refused.
func parseInstant(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if rest, ok := strings.CutPrefix(text, "now-"); ok {
		back, err := parseLength(rest)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is no instant: %w", text, err)
		}
		// Nothing is kept from before 1970.
		return time.Unix(0, max(now.Add(-back).UnixNano(), 0)).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no instant", text)
	}
	if at.Year() < 1970 || at.Year() > 2261 {
		return time.Time{}, fmt.Errorf("%q lies outside 1970 to 2261", text)
	}
	return at.UTC(), nil
}

// parseLength reads a whole number followed by s, m, h, d or w.
func parseLength(text string) (time.Duration, error) {
	units := map[byte]time.Duration{
		's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
	}
	if len(text) < 2 {
		return 0, fmt.Errorf("%q is no length", text)
	}
	unit, ok := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is no length; lengths look like 90s, 30m, 24h, 7d, 2w", text)
	}
	if n > uint64(maxWindow/unit) {
		return 0, fmt.Errorf("%q is longer than 130 years", text)
	}
	return time.Duration(n) * unit, nil
}

// bucketWidth picks the width that cuts a window into at most targetBuckets buckets, from widths a reader can name.
func bucketWidth(window time.Duration) time.Duration {
	widths := []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
		30 * 24 * time.Hour,
	}
	for _, width := range widths {
		if window <= targetBuckets*width {
			return width
		}
	}
	for _, days := range []time.Duration{91, 365} {
		if width := days * 24 * time.Hour; window <= targetBuckets*width {
			return width
		}
	}
	return 3 * 365 * 24 * time.Hour
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
