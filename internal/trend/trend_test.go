package trend

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// series makes daily values from a function of the day.
func series(days int, value func(day int) float64) []Point {
	points := make([]Point, days)
	for i := range points {
		points[i] = Point{Day: monday.AddDate(0, 0, i), Value: value(i)}
	}
	return points
}

// noise is stationary around 1: each day resembles the one before by the correlation.
func noise(random *rand.Rand, correlation float64) func(int) float64 {
	last := random.NormFloat64()
	return func(int) float64 {
		last = correlation*last + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
		return 1 + 0.1*last
	}
}

func week(day int) float64 { return []float64{0, 0.01, 0, -0.01, -0.05, 0.15, 0.2}[day%7] }

func TestPlantedSlopesAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		days          int
		slope, spread float64
		season        bool
	}{
		"shrinking over four weeks": {28, -0.02, 0.05, false},
		"growing over two weeks":    {14, 0.05, 0.05, false},
		"under a weekly season":     {28, -0.02, 0.02, true},
		"exact":                     {10, -0.1, 0, false},
	} {
		fit, ok := Of(series(c.days, func(day int) float64 {
			v := 1 + c.slope*float64(day) + c.spread*random.NormFloat64()
			if c.season {
				v += week(day)
			}
			return v
		}))
		if !ok || fit.P > 0.001 || math.Abs(fit.Slope-c.slope) > 0.25*math.Abs(c.slope) || fit.Low > c.slope+1e-9 || fit.High < c.slope-1e-9 {
			t.Errorf("%s: %+v", name, fit)
		}
	}
}

// One broken day bends no slope.
func TestOneDayDoesNotBendTheSlope(t *testing.T) {
	fit, _ := Of(series(20, func(day int) float64 {
		if day == 19 {
			return -50
		}
		return 1 + 0.001*float64(day%2)
	}))
	if math.Abs(fit.Slope) > 0.001 || fit.P < 0.01 {
		t.Errorf("%+v", fit)
	}
}

// The rate of false alarms of single series stays near its nominal value for noise, for days that resemble their neighbours, and
// for seasons of a week; over many routes at once there are next to none.
func TestNoFalseAlarmOnStationaryNoise(t *testing.T) {
	const trials = 1000
	for name, c := range map[string]struct {
		days        int
		correlation float64
		season      bool
		most        float64
	}{
		"ten days":                   {10, 0, false, 0.015},
		"four weeks":                 {28, 0, false, 0.015},
		"four weeks, correlated":     {28, 0.4, false, 0.025},
		"two months, correlated":     {60, 0.6, false, 0.025},
		"four weeks, weekly season":  {28, 0, true, 0.015},
		"three months, both of them": {90, 0.4, true, 0.025},
	} {
		random := rand.New(rand.NewPCG(2, uint64(c.days)))
		alarms := 0
		for range trials {
			value := noise(random, c.correlation)
			fit, _ := Of(series(c.days, func(day int) float64 {
				v := value(day)
				if c.season {
					v += week(day)
				}
				return v
			}))
			if fit.P <= Alpha {
				alarms++
			}
		}
		rate := float64(alarms) / trials
		t.Logf("%s: %.4f", name, rate)
		if rate > c.most {
			t.Errorf("%s: %.4f of the series alarm, want at most %.3f", name, rate, c.most)
		}
	}
	random := rand.New(rand.NewPCG(3, 3))
	rounds := 0
	for range 100 {
		var fits []*Fit
		for range 50 {
			fit, _ := Of(series(28, noise(random, 0)))
			fits = append(fits, &fit)
		}
		Correct(fits)
		for _, f := range fits {
			if f.Significant {
				rounds++
				break
			}
		}
	}
	if rounds > 4 {
		t.Errorf("%d of 100 times one of 50 stationary routes alarms", rounds)
	}
}

func TestCorrect(t *testing.T) {
	fits := []*Fit{{P: 0.2}, {P: 0.0001}, {P: 0.004}, {P: 0.9}}
	Correct(fits)
	if fits[0].Significant || !fits[1].Significant || !fits[2].Significant || fits[3].Significant {
		t.Errorf("%+v %+v %+v %+v", fits[0], fits[1], fits[2], fits[3])
	}
	Correct(nil)
}

func TestCrosses(t *testing.T) {
	last := monday
	shrinking := Fit{Slope: -0.1, Low: -0.2, High: -0.05, Level: 1, Last: last, Significant: true}
	if c := shrinking.Crosses(0); c == nil || !c.From.Equal(last.AddDate(0, 0, 5)) || !c.To.Equal(last.AddDate(0, 0, 20)) {
		t.Errorf("%+v", c)
	}
	unsure := shrinking
	unsure.High = 0.01
	if c := unsure.Crosses(0); c == nil || !c.To.IsZero() {
		t.Errorf("an open end: %+v", c)
	}
	growing := Fit{Slope: 0.001, Low: 0.0005, High: 0.002, Level: 0.004, Last: last, Significant: true}
	if c := growing.Crosses(0.01); c == nil || !c.From.Equal(last.AddDate(0, 0, 3)) || !c.To.Equal(last.AddDate(0, 0, 12)) {
		t.Errorf("%+v", c)
	}
	for name, f := range map[string]Fit{
		"not significant": {Slope: -0.1, Low: -0.2, High: -0.05, Level: 1, Last: last},
		"moves away":      {Slope: 0.1, Low: 0.05, High: 0.2, Level: 1, Last: last, Significant: true},
		"crossed already": {Slope: -0.1, Low: -0.2, High: -0.05, Level: -1, Last: last, Significant: true},
		"in years":        {Slope: -0.0001, Low: -0.0002, High: -0.00005, Level: 1, Last: last, Significant: true},
	} {
		if c := f.Crosses(0); c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestTooFewDays(t *testing.T) {
	if _, ok := Of(series(MinDays-1, func(int) float64 { return 1 })); ok {
		t.Error("nine days make no trend")
	}
	if fit, ok := Of(series(MinDays, func(int) float64 { return 1 })); !ok || fit.P != 1 || fit.Slope != 0 || fit.Crosses(0) != nil {
		t.Errorf("ten equal days: %+v", fit)
	}
}
