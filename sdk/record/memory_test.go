package record_test

import (
	"testing"

	"github.com/laxity-dev/laxity/sdk/record"
	"github.com/laxity-dev/laxity/sdk/record/recordtest"
)

func TestMemoryKeepsTheContract(t *testing.T) { recordtest.Run(t, new(record.Memory)) }
