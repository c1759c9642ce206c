"""Where the site's pages are."""

from django.contrib import admin
from django.urls import path
from django.views.generic import TemplateView

urlpatterns = [
    path("", TemplateView.as_view(template_name="site/home.html"), name="home"),
    path("admin/", admin.site.urls),
]
