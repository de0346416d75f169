package deadlineexporter

import (
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/laxity-dev/laxity/storage"
)

// Config of the exporter.
type Config struct {
	exporterhelper.TimeoutConfig `mapstructure:",squash"`
	configretry.BackOffConfig    `mapstructure:"retry_on_failure"`

	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
	// DSN of the ClickHouse that has the tables of laxity; see storage.Config.
	DSN configopaque.String `mapstructure:"dsn"`
}

// defaultConfig batches by count of spans, and retries for as long as it takes: a queue that fills up is seen, a batch that
// was dropped is not.
func defaultConfig() component.Config {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeItems
	queue.QueueSize = 5_000_000
	queue.NumConsumers = 2
	batch := exporterhelper.NewDefaultBatchConfig()
	batch.Sizer = exporterhelper.RequestSizerTypeItems
	batch.FlushTimeout = 2 * time.Second
	batch.MinSize = 50_000
	batch.MaxSize = 100_000
	queue.Batch = configoptional.Some(batch)
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval = time.Second
	retry.MaxInterval = 5 * time.Second
	retry.MaxElapsedTime = 0
	return &Config{
		TimeoutConfig: exporterhelper.TimeoutConfig{Timeout: 30 * time.Second},
		BackOffConfig: retry,
		Queue:         configoptional.Some(queue),
	}
}

// Validate reports a DSN that cannot be used.
func (c *Config) Validate() error { return c.storage().Validate() }

func (c *Config) storage() storage.Config {
	return storage.Config{DSN: string(c.DSN), MaxExecutionTime: c.Timeout}
}
