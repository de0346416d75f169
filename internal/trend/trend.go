// Package trend finds slow changes in daily figures: a slope that single days cannot bend, a test that days resembling their
// neighbours do not fool, a correction for asking of many routes at once, and the interval in which a limit is crossed. It is
// pure.
package trend

import (
	"math"
	"slices"
	"time"
)

// What a series needs, and how it is judged.
const (
	// MinDays with at least MinAnswered requests each make a trend.
	MinDays     = 10
	MinAnswered = 200
	// WeekdayDays is the reach from which weekdays are adjusted for.
	WeekdayDays = 21
	// Alpha is the share of false alarms among alarms that is accepted.
	Alpha = 0.01
	// Horizon is how far ahead a crossing is told.
	Horizon = 365 * 24 * time.Hour
)

// Point is the figure of one day.
type Point struct {
	Day   time.Time
	Value float64
}

// Fit is the trend of one series.
type Fit struct {
	// Slope per day by Theil and Sen; Low and High are its 95 % interval.
	Slope, Low, High float64
	// Level is the fitted value at the last day.
	Level float64
	Last  time.Time
	// P is the two-sided probability of as strong an order without a trend, by Mann and Kendall, corrected for autocorrelation.
	P float64
	// Significant is set by Correct.
	Significant bool
}

// Of fits a series, oldest day first; ok is false with too few days.
func Of(points []Point) (fit Fit, ok bool) {
	if len(points) < MinDays {
		return Fit{}, false
	}
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p.Day.Sub(points[0].Day).Hours()/24, p.Value
	}
	spread := 1.0
	if x[len(x)-1]+1 >= WeekdayDays {
		y = withoutWeekdays(points, x, y)
		n := float64(len(y))
		spread = n / max(n-7, 1) // what is fitted away makes the rest look more orderly than it is
	}
	slopes := pairSlopes(x, y)
	fit = Fit{Slope: median(slopes), Last: points[len(points)-1].Day}
	residuals := make([]float64, len(y))
	for i := range y {
		residuals[i] = y[i] - fit.Slope*x[i]
	}
	fit.Level = median(slices.Clone(residuals)) + fit.Slope*x[len(x)-1]
	score, variance := kendall(y)
	variance *= spread * inflation(residuals)
	fit.P = probability(score, variance)
	fit.Low, fit.High = interval(slopes, variance)
	return fit, true
}

// withoutWeekdays subtracts from each day how its weekday differs from the line through all days.
func withoutWeekdays(points []Point, x, y []float64) []float64 {
	slope := median(pairSlopes(x, y))
	rest := make([]float64, len(y))
	for i := range y {
		rest[i] = y[i] - slope*x[i]
	}
	middle := median(slices.Clone(rest))
	var byDay [7][]float64
	for i, p := range points {
		day := p.Day.UTC().Weekday()
		byDay[day] = append(byDay[day], rest[i]-middle)
	}
	adjusted := slices.Clone(y)
	for i, p := range points {
		adjusted[i] -= median(slices.Clone(byDay[p.Day.UTC().Weekday()]))
	}
	return adjusted
}

// pairSlopes returns the slopes between all pairs of days, in order of size.
func pairSlopes(x, y []float64) []float64 {
	slopes := make([]float64, 0, len(x)*(len(x)-1)/2)
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			if x[j] > x[i] {
				slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
	}
	slices.Sort(slopes)
	return slopes
}

// kendall returns how many more pairs rise than fall, and the variance of that number without a trend, ties considered.
func kendall(y []float64) (score, variance float64) {
	n := float64(len(y))
	for i := range y {
		for j := i + 1; j < len(y); j++ {
			switch {
			case y[j] > y[i]:
				score++
			case y[j] < y[i]:
				score--
			}
		}
	}
	variance = n * (n - 1) * (2*n + 5)
	sorted := slices.Sorted(slices.Values(y))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		t := float64(j - i)
		variance -= t * (t - 1) * (2*t + 5)
		i = j
	}
	return score, max(variance, 0) / 18
}

// maxCorrelation bounds the correlation of neighbouring days that is corrected for.
const maxCorrelation = 0.95

// inflation is by how much days that resemble their neighbours widen the spread of the score (Yue and Wang): the correlation of
// neighbours, estimated from ranks of the residuals and freed of the bias of short detrended series, as in an autoregressive
// series of order one. It never narrows.
func inflation(residuals []float64) float64 {
	ranks := ranksOf(residuals)
	n := float64(len(ranks))
	mean := (n + 1) / 2
	var all, next float64
	for i, r := range ranks {
		all += (r - mean) * (r - mean)
		if i > 0 {
			next += (r - mean) * (ranks[i-1] - mean)
		}
	}
	if all == 0 {
		return 1
	}
	correlation := (n*next/all + 2) / (n - 4)
	correlation = min(max(correlation, 0), maxCorrelation)
	factor, power := 1.0, 1.0
	for lag := 1.0; lag < n; lag++ {
		power *= correlation
		factor += 2 * (1 - lag/n) * power
	}
	return factor
}

// ranksOf gives equal values the mean of their ranks.
func ranksOf(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			ranks[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return ranks
}

// probability is two-sided, by the normal approximation with a correction for continuity.
func probability(score, variance float64) float64 {
	if variance == 0 || score == 0 {
		return 1
	}
	z := (math.Abs(score) - 1) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}

// interval takes the slopes between which the true one lies in 95 of 100 series.
func interval(slopes []float64, variance float64) (low, high float64) {
	const z = 1.959963984540054
	n, c := float64(len(slopes)), z*math.Sqrt(variance)
	at := func(rank float64) float64 {
		return slopes[min(max(int(rank), 0), len(slopes)-1)]
	}
	return at(math.Floor((n - c) / 2)), at(math.Ceil((n + c) / 2))
}

// median orders the values and returns their middle.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}

// Correct marks the trends that are significant when all of them were looked for at once (Benjamini and Hochberg).
func Correct(fits []*Fit) {
	order := slices.Clone(fits)
	slices.SortFunc(order, func(a, b *Fit) int {
		switch {
		case a.P < b.P:
			return -1
		case a.P > b.P:
			return 1
		}
		return 0
	})
	last := -1
	for i, f := range order {
		f.Significant = false
		if f.P <= Alpha*float64(i+1)/float64(len(order)) {
			last = i
		}
	}
	for i := range last + 1 {
		order[i].Significant = true
	}
}

// Crossing is when a limit is reached, as an interval. A zero To lies beyond the horizon.
type Crossing struct{ From, To time.Time }

// Crosses returns when a significant trend reaches a limit that it moves towards; nil if it does not, has already, or only
// beyond the horizon.
func (f Fit) Crosses(limit float64) *Crossing {
	gap := limit - f.Level
	if !f.Significant || gap == 0 || gap*f.Slope <= 0 {
		return nil
	}
	fast, slow := f.High, f.Low
	if gap < 0 {
		fast, slow = f.Low, f.High
	}
	reach := func(slope float64) time.Time {
		if slope*gap <= 0 || gap/slope > Horizon.Hours()/24 {
			return time.Time{}
		}
		return f.Last.Add(time.Duration(gap / slope * 24 * float64(time.Hour))).Truncate(time.Hour)
	}
	c := Crossing{From: reach(fast), To: reach(slow)}
	if c.From.IsZero() {
		return nil
	}
	return &c
}
