package deadlineprocessor

import "github.com/laxity-dev/laxity/internal/classify"

// Config of the processor. The zero value works.
type Config struct {
	classify.Config `mapstructure:",squash"`
}
