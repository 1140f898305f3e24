// Package metrics tells the state of all objects to those who scrape the operator, from its cache. It knows no kind's controller.
package metrics
