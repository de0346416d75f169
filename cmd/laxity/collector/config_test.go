package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/otelcol"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/processor/redactprocessor"
)

func valid(t *testing.T) Config {
	return Config{
		DSN: "http://user:pa$$word@127.0.0.1:1/traces", Queue: t.TempDir(), GRPC: "127.0.0.1:0", HTTP: "localhost:0", Metrics: "127.0.0.1:9464",
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no DSN":            func(c *Config) { c.DSN = "" },
		"no queue":          func(c *Config) { c.Queue = "" },
		"open gRPC":         func(c *Config) { c.GRPC = "0.0.0.0:4317" },
		"open HTTP":         func(c *Config) { c.HTTP = ":4318" },
		"a name is no port": func(c *Config) { c.Metrics = "localhost" },
		"too little memory": func(c *Config) { c.MemoryMiB = 10 },
		"tiny queue":        func(c *Config) { c.QueueSpans = 10 },
		"no such rules":     func(c *Config) { c.ClassifyRules = filepath.Join(t.TempDir(), "none.yaml") },
		"unit":              func(c *Config) { c.BudgetFrom = []classify.BudgetFrom{{Attribute: "a", Unit: "min"}} },
	} {
		c := valid(t)
		change(&c)
		if err := c.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, change := range map[string]func(*Config){
		"as it is":      func(*Config) {},
		"with a token":  func(c *Config) { c.GRPC, c.TokenFile = "0.0.0.0:4317", "token" },
		"open at will":  func(c *Config) { c.HTTP, c.Insecure = ":4318", true },
		"IPv6 loopback": func(c *Config) { c.GRPC = "[::1]:0" },
	} {
		c := valid(t)
		change(&c)
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The collector itself takes the built-in configuration, in every variant.
func TestTheCollectorTakesTheConfiguration(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"plain": func(*Config) {},
		"all": func(c *Config) {
			c.NoRawSpans, c.TokenFile, c.Fsync, c.LogLevel, c.MemoryMiB = true, "/tmp/a \"token\"", true, "debug", 256
			c.QueueSpans = 1000
			c.Redact = redactprocessor.Config{Keys: []redactprocessor.Key{{Pattern: "user.*", Action: "hash"}}, Values: []string{`\d{4}"`}, Salt: "a: $b"}
			c.BudgetFrom = []classify.BudgetFrom{{Attribute: "x-${env:HOME}", Unit: "ms"}}
			c.ClassifyRules = filepath.Join(t.TempDir(), "$mine.yaml")
			if err := os.WriteFile(c.ClassifyRules, []byte("rules: [{type: Busy, rule: busy, phase: queue}]"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		c := valid(t)
		change(&c)
		yaml, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		provider, err := otelcol.NewConfigProvider(otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{"yaml:" + string(yaml)}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}})
		if err != nil {
			t.Fatal(err)
		}
		factories, err := Factories()
		if err != nil {
			t.Fatal(err)
		}
		config, err := provider.Get(t.Context(), factories)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, yaml)
		}
		if err := config.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, raw := config.Exporters[component.MustNewID("clickhouse")]; raw == c.NoRawSpans {
			t.Errorf("%s: raw exporter present: %v", name, raw)
		}
		if !strings.Contains(string(yaml), "pa$$$$word") {
			t.Error("a dollar sign of the password would be expanded")
		}
	}
}
