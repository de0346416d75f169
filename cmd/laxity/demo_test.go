package main

import (
	"maps"
	"testing"

	"github.com/laxity-dev/laxity/internal/demo"
)

func TestDemoRates(t *testing.T) {
	for name, c := range map[string]struct {
		faults []string
		none   bool
		want   map[demo.Fault]float64
		fails  bool
	}{
		"the mix":          {want: demo.DefaultRates()},
		"none":             {none: true},
		"named":            {faults: []string{"freeze=0.25", "late_result"}, want: map[demo.Fault]float64{demo.Freeze: 0.25, demo.LateResult: 1}},
		"both":             {faults: []string{"freeze"}, none: true, fails: true},
		"unknown":          {faults: []string{"frozen"}, fails: true},
		"rate above one":   {faults: []string{"freeze=2"}, fails: true},
		"rate not a share": {faults: []string{"freeze=NaN"}, fails: true},
	} {
		got, err := rates(c.faults, c.none)
		if (err != nil) != c.fails || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestDemoBackfillDays(t *testing.T) {
	for text, want := range map[string]int{"": 0, "14d": 14, "48h": 2, "1d": 1} {
		if got, err := parseDays(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"0d", "-1d", "36h", "d", "14", "1000d", "1.5d"} {
		if got, err := parseDays(text); err == nil {
			t.Errorf("%q: %d days, want an error", text, got)
		}
	}
}

func TestDemoUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"demo", "--fault", "frozen"}, {"demo", "now"}, {"demo", "--rate", "-1"}, {"demo", "--backfill", "2w"}, {"demo", "fault", "frozen"}} {
		if code := run(t.Context(), args); code != exitUsage {
			t.Errorf("%v: exit code %d, want %d", args, code, exitUsage)
		}
	}
}
