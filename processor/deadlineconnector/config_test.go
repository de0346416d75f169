package deadlineconnector

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func TestWrongConfigurationsAreToldApart(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"flush_interval is 1ms":              func(c *Config) { c.FlushInterval = time.Millisecond },
		"temporality is \"DELTA\"":           func(c *Config) { c.Temporality = "DELTA" },
		"max_series is 0":                    func(c *Config) { c.MaxSeries = 0 },
		"series_expiration is -1s":           func(c *Config) { c.SeriesExpiration = -time.Second },
		"at least two flush intervals (30s)": func(c *Config) { c.SeriesExpiration = 20 * time.Second },
		"max_age is -1s":                     func(c *Config) { c.MaxAge = -time.Second },
		"dedup_spans is -1":                  func(c *Config) { c.DedupSpans = -1 },
		"skeletons::memory_mib is 0":         func(c *Config) { c.Skeletons.MemoryMiB = 0 },
		"exponential::max_size is 1":         func(c *Config) { c.Exponential = ExponentialConfig{true, 1} },
		"buckets has 0 bounds":               func(c *Config) { c.Buckets = nil },
		"buckets has the bound -1":           func(c *Config) { c.Buckets = []float64{-1, 0} },
		"0.5 does not come after 1":          func(c *Config) { c.Buckets = []float64{1, 0.5} },
		"ratio_buckets has the bound NaN":    func(c *Config) { c.RatioBuckets = []float64{math.NaN()} },
	} {
		c := NewFactory().CreateDefaultConfig().(*Config)
		change(c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	if err := NewFactory().CreateDefaultConfig().(*Config).Validate(); err != nil {
		t.Error(err)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	c := NewFactory().CreateDefaultConfig().(*Config)
	err := confmap.NewFromStringMap(map[string]any{
		"flush_interval": "1s", "temporality": "delta", "max_series": 5, "series_expiration": "5s", "max_age": "0s", "exemplars": false,
		"buckets": []any{0.1, 1}, "ratio_buckets": []any{1}, "dedup_spans": 0, "exponential": map[string]any{"enabled": true, "max_size": 20}, "skeletons": map[string]any{"enabled": true, "memory_mib": 1},
	}).Unmarshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.FlushInterval != time.Second || c.Temporality != Delta || c.MaxSeries != 5 || c.SeriesExpiration != 5*time.Second || c.MaxAge != 0 ||
		c.Exemplars || len(c.Buckets) != 2 || len(c.RatioBuckets) != 1 || c.DedupSpans != 0 || c.Exponential != (ExponentialConfig{true, 20}) || c.Skeletons != (SkeletonsConfig{true, 1}) {
		t.Errorf("%+v", c)
	}
}

func TestNonsenseNeverPanics(t *testing.T) {
	r := newRig(t, nil)
	for _, v := range []any{math.NaN(), math.Inf(1), math.Inf(-1), -1e300, 1e300, math.MaxInt64, math.MinInt64, "soon", strings.Repeat("x\xff", 200), true, []any{"a"}, map[string]any{"a": "b"}} {
		attrs := map[string]any{}
		for _, a := range budgetattr.All() {
			attrs[a.Key] = v
		}
		for kind := range ptrace.SpanKindConsumer + 2 {
			td := ptrace.NewTraces()
			s := r.add(td, "shop", kind, 0, 1, attrs)
			s.SetStartTimestamp(pcommon.Timestamp(math.MaxUint64))
			r.send(td)
			s.SetStartTimestamp(0)
			s.SetEndTimestamp(pcommon.Timestamp(math.MaxUint64))
			s.SetSpanID(pcommon.SpanID{1, byte(kind), 3})
			s.TraceState().FromRaw("ot=th:zz,ot=th:ffffffffffffff")
			r.send(td)
		}
	}
	for name, s := range r.flush() {
		if math.IsNaN(s.sum) || math.IsInf(s.sum, 0) || math.IsNaN(s.number) || s.number < 0 || s.sum < 0 {
			t.Errorf("%.200s is %g, sum %g", name, s.number, s.sum)
		}
	}
}

func FuzzSpans(f *testing.F) {
	f.Add([]byte("deadline.budget.received"), 1.0, "1", uint8(2))
	f.Fuzz(func(t *testing.T, key []byte, number float64, text string, kind uint8) {
		r := newRig(t, func(c *Config) { c.Skeletons.MemoryMiB = 1 })
		td := ptrace.NewTraces()
		s := r.add(td, text, ptrace.SpanKind(kind%7), 0, 1, nil)
		all := budgetattr.All()
		for i, b := range key {
			k := all[int(b)%len(all)].Key
			if i%2 == 0 {
				s.Attributes().PutDouble(k, number)
			} else {
				s.Attributes().PutStr(k, text)
			}
		}
		r.send(td)
		r.flush()
	})
}
