package api

import (
	"testing"
	"time"
)

func TestParseInstant(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"now": at, "now-90s": at.Add(-90 * time.Second), "now-30m": at.Add(-30 * time.Minute), "now-24h": at.Add(-24 * time.Hour),
		"now-7d": at.AddDate(0, 0, -7), "now-2w": at.AddDate(0, 0, -14), "2026-03-04T13:00:00+01:00": at,
		"2026-03-04T12:00:00.5Z": at.Add(500 * time.Millisecond), "1970-01-01T00:00:00Z": time.Unix(0, 0).UTC(),
		"now-30000d": time.Unix(0, 0).UTC(),
	} {
		if got, err := parseInstant(text, at); err != nil || !got.Equal(want) {
			t.Errorf("%q = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "today", "now-", "now-d", "now--1d", "now-1y", "now-1.5d", "now+1d", "2026-03-04", "now-99999999999d",
		"1969-12-31T23:59:59Z", "2262-01-01T00:00:00Z"} {
		if got, err := parseInstant(text, at); err == nil {
			t.Errorf("%q = %v, want an error", text, got)
		}
	}
}

func TestBucketWidth(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, time.Hour: time.Minute, 24 * time.Hour: 30 * time.Minute, 7 * 24 * time.Hour: 3 * time.Hour,
		30 * 24 * time.Hour: 12 * time.Hour, 3660 * 24 * time.Hour: 91 * 24 * time.Hour, maxWindow: 3 * 365 * 24 * time.Hour,
	} {
		got := bucketWidth(window)
		if got != want || window > targetBuckets*got {
			t.Errorf("bucketWidth(%s) = %s, want %s", window, got, want)
		}
	}
}
