package deadlineconnector

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Temporality says what an exported point counts from.
type Temporality string

// The temporalities.
const (
	// Cumulative points count from the start of their series; for Prometheus.
	Cumulative Temporality = "cumulative"
	// Delta points count from the export before; only series that changed are exported.
	Delta Temporality = "delta"
)

// Config of the connector. CreateDefaultConfig gives the defaults named here.
type Config struct {
	// FlushInterval is the time between two exports. 15s.
	FlushInterval time.Duration `mapstructure:"flush_interval"`
	// Temporality of counters and histograms: cumulative, or delta. cumulative.
	Temporality Temporality `mapstructure:"temporality"`
	// MaxSeries bounds the series in memory; what belongs to one more is counted in the series otel.metric.overflow=true of
	// its metric. 20000.
	MaxSeries int `mapstructure:"max_series"`
	// SeriesExpiration is how long a series without new spans stays; 0 is forever. 1h.
	SeriesExpiration time.Duration `mapstructure:"series_expiration"`
	// MaxAge leaves out spans that ended longer ago: what comes out of an archive or a long outage is not of now. 0 counts
	// them all. 15m.
	MaxAge time.Duration `mapstructure:"max_age"`
	// Exemplars attaches to each series of misses the trace of the latest one. true.
	Exemplars bool `mapstructure:"exemplars"`
	// Buckets are the upper bounds, in seconds, of the histograms of times.
	Buckets []float64 `mapstructure:"buckets"`
	// RatioBuckets are the upper bounds of the histogram of the used share of the budget.
	RatioBuckets []float64 `mapstructure:"ratio_buckets"`
	// Exponential replaces both by exponential histograms.
	Exponential ExponentialConfig `mapstructure:"exponential"`
	// DedupSpans is about how many of the latest spans are remembered, so that one sent again counts once; 0 is none. 131072.
	DedupSpans int `mapstructure:"dedup_spans"`
	// Skeletons finds orphan work before storage does.
	Skeletons SkeletonsConfig `mapstructure:"skeletons"`
}

// ExponentialConfig says how histograms whose buckets follow the values are kept.
type ExponentialConfig struct {
	// Enabled. false.
	Enabled bool `mapstructure:"enabled"`
	// MaxSize is how many buckets one may have. 160.
	MaxSize int `mapstructure:"max_size"`
}

// SkeletonsConfig bounds what is kept of spans that are gone.
type SkeletonsConfig struct {
	// Enabled keeps the times and the evidence of calls, and of what they called, so that early orphan work is counted. true.
	Enabled bool `mapstructure:"enabled"`
	// MemoryMiB is the hard bound of all that is kept; the oldest make room. 16.
	MemoryMiB int `mapstructure:"memory_mib"`
}

// defaultBuckets are the bounds of the histograms of times, in seconds.
var defaultBuckets = []float64{0, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

var defaultRatioBuckets = []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, .95, 1, 1.1, 1.25, 1.5, 2, 5}

func defaultConfig() *Config {
	return &Config{
		FlushInterval:    15 * time.Second,
		Temporality:      Cumulative,
		MaxSeries:        20_000,
		SeriesExpiration: time.Hour,
		MaxAge:           15 * time.Minute,
		Exemplars:        true,
		Buckets:          slices.Clone(defaultBuckets),
		RatioBuckets:     slices.Clone(defaultRatioBuckets),
		Exponential:      ExponentialConfig{MaxSize: maxBuckets},
		DedupSpans:       1 << 17,
		Skeletons:        SkeletonsConfig{Enabled: true, MemoryMiB: 16},
	}
}

// maxBuckets and maxDedup bound what a mistake in a configuration can cost.
const (
	maxBuckets = 160
	maxDedup   = 1 << 26
)

// Validate says everything that is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.FlushInterval < 10*time.Millisecond {
		errs = append(errs, fmt.Errorf("flush_interval is %s; the least is 10ms", c.FlushInterval))
	}
	if c.Temporality != Cumulative && c.Temporality != Delta {
		errs = append(errs, fmt.Errorf("temporality is %q; use cumulative or delta", c.Temporality))
	}
	if c.MaxSeries < 1 {
		errs = append(errs, fmt.Errorf("max_series is %d; it must be positive", c.MaxSeries))
	}
	if c.SeriesExpiration < 0 {
		errs = append(errs, fmt.Errorf("series_expiration is %s; it must not be negative (0 keeps series forever)", c.SeriesExpiration))
	} else if c.SeriesExpiration > 0 && c.SeriesExpiration < 2*c.FlushInterval {
		errs = append(errs, fmt.Errorf("series_expiration is %s; it must be at least two flush intervals (%s)", c.SeriesExpiration, 2*c.FlushInterval))
	}
	if c.MaxAge < 0 {
		errs = append(errs, fmt.Errorf("max_age is %s; it must not be negative (0 counts spans of any age)", c.MaxAge))
	}
	if c.DedupSpans < 0 || c.DedupSpans > maxDedup {
		errs = append(errs, fmt.Errorf("dedup_spans is %d; use 0 (off) to %d", c.DedupSpans, maxDedup))
	}
	if c.Exponential.Enabled && (c.Exponential.MaxSize < 2 || c.Exponential.MaxSize > maxBuckets) {
		errs = append(errs, fmt.Errorf("exponential::max_size is %d; use 2 to %d", c.Exponential.MaxSize, maxBuckets))
	}
	if c.Skeletons.Enabled && c.Skeletons.MemoryMiB < 1 {
		errs = append(errs, fmt.Errorf("skeletons::memory_mib is %d; it must be positive (skeletons::enabled: false turns them off)", c.Skeletons.MemoryMiB))
	}
	errs = append(errs, validateBuckets("buckets", c.Buckets), validateBuckets("ratio_buckets", c.RatioBuckets))
	return errors.Join(errs...)
}

func validateBuckets(name string, bounds []float64) error {
	if len(bounds) == 0 || len(bounds) > maxBuckets {
		return fmt.Errorf("%s has %d bounds; use 1 to %d", name, len(bounds), maxBuckets)
	}
	for i, b := range bounds {
		switch {
		case math.IsNaN(b) || math.IsInf(b, 0) || b < 0:
			return fmt.Errorf("%s has the bound %g; bounds are finite and not negative: margin and overrun are two histograms, neither below zero", name, b)
		case i > 0 && b <= bounds[i-1]:
			return fmt.Errorf("%s: %g does not come after %g; bounds must ascend", name, b, bounds[i-1])
		}
	}
	return nil
}

func (t Temporality) pdata() pmetric.AggregationTemporality {
	if t == Delta {
		return pmetric.AggregationTemporalityDelta
	}
	return pmetric.AggregationTemporalityCumulative
}
