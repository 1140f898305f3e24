package controllers

// What the operator may do, in its own namespace and those that the chart names only, but for reading nodes, what node agents report of
// them, and the cluster's ranges of Services. The chart's Role and ClusterRole are generated from these lines, and TestEnvtest compares them with
// the requests that the controllers make. Most kinds are read through a cache, which lists and watches;
// objects are made by server-side apply, which is patch, and create where there is none.

// patch of these is of what a new core begins with (core/tlsbeginning.go), and of which version fields are written by (cluster/versions.go).
// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=core5gs;subscribers,verbs=list;watch;patch
// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=slices,verbs=list;watch;update;patch
// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=upfinstances,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=core5gs/status;slices/status;upfinstances/status;subscribers/status,verbs=patch
// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=core5gs/finalizers;slices/finalizers;upfinstances/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,namespace=core5g,resources=deployments,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",namespace=core5g,resources=services;configmaps;secrets,verbs=list;watch;create;patch;delete
// Whose an object is that has a name which the operator needs, the caches of its own objects do not know.
// +kubebuilder:rbac:groups=apps,namespace=core5g,resources=deployments,verbs=get
// +kubebuilder:rbac:groups="",namespace=core5g,resources=services;configmaps,verbs=get
// +kubebuilder:rbac:groups="",namespace=core5g,resources=secrets,verbs=get
// +kubebuilder:rbac:groups=policy,namespace=core5g,resources=poddisruptionbudgets,verbs=get
// +kubebuilder:rbac:groups=networking.k8s.io,namespace=core5g,resources=networkpolicies,verbs=get
// +kubebuilder:rbac:groups="",namespace=core5g,resources=pods,verbs=get;list;watch;create;patch;delete
// That an N2 terminator which does not answer is not ready (core/silentterminators.go).
// +kubebuilder:rbac:groups="",namespace=core5g,resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",namespace=core5g,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=k8s.cni.cncf.io,namespace=core5g,resources=network-attachment-definitions,verbs=get;create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=core5g,resources=leases,verbs=get;list;watch;create;update;patch
// What members of a unit with redundancy may do: get and patch Leases, which the operator may, too, and so may give.
// +kubebuilder:rbac:groups="",namespace=core5g,resources=serviceaccounts,verbs=get;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,namespace=core5g,resources=roles;rolebindings,verbs=get;create;patch
// +kubebuilder:rbac:groups=policy,namespace=core5g,resources=poddisruptionbudgets,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,namespace=core5g,resources=networkpolicies,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,namespace=core5g,resources=certificates;issuers,verbs=get;create;patch;delete
// The claim of the embedded session store; never deleted.
// +kubebuilder:rbac:groups="",namespace=core5g,resources=persistentvolumeclaims,verbs=get;create;patch
// Whether its own namespace is being deleted, a Role may tell.
// +kubebuilder:rbac:groups="",namespace=core5g,resources=namespaces,verbs=get
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list
// +kubebuilder:rbac:groups=core5g.dev,resources=dataplanenodes,verbs=list;watch
