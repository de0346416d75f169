package storage

import (
	"fmt"
	"strings"
	"time"
)

// Shard is a part of all traces: those whose hash leaves Number-1 when divided by Of. The zero value stands for the whole.
type Shard struct{ Number, Of int }

// maxShards bounds the workers of one database.
const maxShards = 1024

// ParseShard reads NUMBER/OF, as in 1/2 and 2/2.
func ParseShard(text string) (Shard, error) {
	var s Shard
	var rest string
	if n, _ := fmt.Sscanf(text, "%d/%d%s", &s.Number, &s.Of, &rest); n != 2 || s == (Shard{}) || s.Validate() != nil {
		return s, fmt.Errorf("shard %q: want NUMBER/OF, such as 1/2 for the first of two workers and 2/2 for the other", text)
	}
	return s, nil
}

// Validate reports a number that is not among the shards.
func (s Shard) Validate() error {
	if s != (Shard{}) && (s.Of < 1 || s.Of > maxShards || s.Number < 1 || s.Number > s.Of) {
		return fmt.Errorf("shard %d of %d: the number is 1 to the count of workers, which is at most %d", s.Number, s.Of, maxShards)
	}
	return nil
}

// String writes NUMBER/OF.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Step is the step under which the shard notes what it has judged.
func (s Shard) Step() Step {
	if s.Of <= 1 {
		return StepVerdicts
	}
	return Step(shardPrefix + s.String())
}

// Extents is the step under which the shard notes that the extents of all that was judged before are kept.
func (s Shard) Extents() Step {
	if s.Of <= 1 {
		return StepExtents
	}
	return Step(string(StepExtents) + " " + s.String())
}

const shardPrefix = string(StepVerdicts) + " "

// judgedByAll returns up to where some division into shards has judged everything: the latest over the divisions of the
// earliest over their shards.
func judgedByAll(progress map[Step]time.Time) (latest time.Time, ok bool) {
	latest, ok = progress[StepVerdicts]
	seen := map[int]int{}
	earliest := map[int]time.Time{}
	for step, at := range progress {
		text, found := strings.CutPrefix(string(step), shardPrefix)
		if !found {
			continue
		}
		shard, err := ParseShard(text)
		if err != nil {
			continue
		}
		if seen[shard.Of]++; seen[shard.Of] == 1 || at.Before(earliest[shard.Of]) {
			earliest[shard.Of] = at
		}
	}
	for of, at := range earliest {
		if seen[of] == of && (!ok || at.After(latest)) {
			latest, ok = at, true
		}
	}
	return latest, ok
}
