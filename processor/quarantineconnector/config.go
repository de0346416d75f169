package quarantineconnector

import (
	"fmt"

	"go.opentelemetry.io/collector/pipeline"
)

// Config of the connector.
type Config struct {
	// Pipeline is the traces pipeline that takes the refused spans. Every other pipeline that the connector feeds takes the
	// rest.
	Pipeline pipeline.ID `mapstructure:"pipeline"`
}

// Validate refuses a pipeline that does not carry traces.
func (c *Config) Validate() error {
	if c.Pipeline.Signal() != pipeline.SignalTraces {
		return fmt.Errorf("pipeline is %q; name the traces pipeline that writes the quarantine", c.Pipeline)
	}
	return nil
}
