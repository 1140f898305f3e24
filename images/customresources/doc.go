// Package customresources has a function of the core follow its custom resources: whenever one changes, the function's configuration is made of all of them
// anew, which is within a second, and who follows it is told.
//
// What an object means is the function's own: Options.Build. An object that cannot be used is named, once in the log, and in a metric as long as it is so;
// what was last good of it stays in force, where Build says so.
//
//	watcher.go  when to build, and who is told
//	cache.go    the objects, from the API server
package customresources
