// SPDX-License-Identifier: Apache-2.0

package llm

import "sync"

// cache remembers a pure function of a name. Names come from code, not from
// answers, so there are few.
type cache[V any] struct {
	m sync.Map
	f func(string) V
}

func newCache[V any](f func(string) V) *cache[V] { return &cache[V]{f: f} }

func (c *cache[V]) get(name string) V {
	if v, ok := c.m.Load(name); ok {
		return v.(V)
	}
	v, _ := c.m.LoadOrStore(name, c.f(name))
	return v.(V)
}
